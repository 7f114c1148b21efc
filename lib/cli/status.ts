/** `ebs-drain status`: every draining Node, where it stands and what blocks it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeView } from "../drain/cluster.ts";
import { SECOND, isoOf } from "../drain/time.ts";
import { PortError } from "../engine/errors.ts";
import type { ClusterPort } from "../engine/ports.ts";
import type { BudgetView } from "../kubernetes/inspection.ts";
import type { Output } from "./connection-options.ts";
import { type DrainingNode, drainingNode, isDraining } from "./draining-node.ts";
import type { Operator } from "./operator.ts";
import { portsOf } from "./operator-ports.ts";
import { DONE, type ExitCode } from "./running.ts";
import type { Terminal } from "./simulate.ts";
import { structured } from "./structured.ts";
import { ageText, tableOf } from "./table.ts";
import { findTarget } from "./target.ts";

export interface StatusOptions {
  readonly output: Output;
  /** Seconds between two looks; absent: one look. */
  readonly watch?: number;
}

/** How a watch goes on: `again` waits and says whether to look once more. */
export interface Watching {
  readonly again: (seconds: number) => Promise<boolean>;
}

const FOREVER: Watching = { again: (seconds) => sleep(seconds * SECOND, true) };

export async function status(
  name: string | undefined,
  options: StatusOptions,
  operator: Operator,
  terminal: Terminal,
  watching: Watching = FOREVER,
): Promise<ExitCode> {
  const { watch } = options;
  for (;;) {
    const rows = await statusOf(name, operator, terminal);
    for (const line of await linesOf(rows, options, operator)) terminal.print(line);
    if (watch === undefined || !(await watching.again(watch))) return DONE;
  }
}

async function linesOf(
  rows: readonly DrainingNode[],
  { output, watch }: StatusOptions,
  { now }: Operator,
): Promise<readonly string[]> {
  const text = await structured(rows, output);
  if (text !== undefined) return [text];
  const heading = watch === undefined ? [] : [isoOf(now())];
  return [...heading, ...statusText(rows, output === "wide"), ...(watch === undefined ? [] : [""])];
}

/** The Node named, draining or not; else all that drain. */
export async function statusOf(
  name: string | undefined,
  operator: Operator,
  terminal: Pick<Terminal, "complain">,
): Promise<readonly DrainingNode[]> {
  const nodes: readonly NodeView[] =
    name === undefined
      ? (await operator.cluster.listNodes()).filter(isDraining)
      : [(await findTarget(name, operator)).node];
  if (nodes.length === 0) return [];
  const budgets = await budgetsOf(operator, terminal);
  const ports = portsOf({ ...operator, cluster: listingOnce(operator.cluster) });
  const rows: DrainingNode[] = [];
  // One after the other: a look asks a handful of things at once already.
  for (const node of nodes) rows.push(await drainingNode(node, budgets, operator, ports));
  return rows.toSorted((a, b) => (a.secondsLeft ?? Infinity) - (b.secondsLeft ?? Infinity));
}

/** Without them blocked pods are named without what blocks them. */
async function budgetsOf(
  { inspection }: Operator,
  { complain }: Pick<Terminal, "complain">,
): Promise<readonly BudgetView[]> {
  return inspection.listBudgets().catch((error: unknown) => {
    if (!(error instanceof PortError)) throw error;
    complain(`which budgets block is not known: ${error.message}`);
    return [];
  });
}

/** All Nodes of a status share one list of the cluster's attachments. */
function listingOnce(cluster: ClusterPort): ClusterPort {
  let listed: ReturnType<ClusterPort["listAttachmentRows"]> | undefined;
  return {
    ...cluster,
    listAttachmentRows: () => (listed ??= cluster.listAttachmentRows({ withNodeIds: true })),
  };
}

function statusText(rows: readonly DrainingNode[], isWide: boolean): readonly string[] {
  if (rows.length === 0) return ["no Node is draining: none is cordoned, none carries work"];
  const heading = ["NODE", "INSTANCE", "STAGE", "AGE", "LEFT", ...(isWide ? ["WORK", "GROUP"] : [])];
  return tableOf([[...heading, "BLOCKED BY"], ...rows.flatMap((row) => rowsOf(row, isWide))]);
}

/** The first blocker stands in the Node's own line, the others below it: three, or in `wide` all. */
function rowsOf(row: DrainingNode, isWide: boolean): readonly (readonly string[])[] {
  const { node, instance, stage, ageSeconds, secondsLeft, work, group, blockedBy } = row;
  const cells = [
    node,
    instance,
    stage,
    ageSeconds === undefined ? "-" : ageText(ageSeconds * SECOND),
    leftText(secondsLeft),
    ...(isWide ? [work || "-", group || "-"] : []),
  ];
  const shown = isWide ? blockedBy : blockedBy.slice(0, 3);
  const more = blockedBy.length - shown.length;
  const [first = "nothing", ...others] = [...shown, ...(more > 0 ? [`and ${more} more (-o wide)`] : [])];
  return [[...cells, first], ...others.map((other) => [...cells.map(() => ""), other])];
}

function leftText(seconds: number | undefined): string {
  if (seconds === undefined) return "-";
  return seconds < 0 ? `over by ${ageText(-seconds * SECOND)}` : ageText(seconds * SECOND);
}
