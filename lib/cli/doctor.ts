/** `ebs-drain doctor`: what would go wrong in a drain of this cluster, found before it does. Changes nothing. */
import type { NodeView } from "../drain/cluster.ts";
import type { WorkloadView } from "../kubernetes/inspection.ts";
import type { Output } from "./connection-options.ts";
import { AREAS, type Finding, type Level, lookedAt, problem } from "./finding.ts";
import { findingsOfAccess, findingsOfHooks, findingsOfIam } from "./findings-of-aws.ts";
import { findingsOfGroupRights, findingsOfOwnRights, findingsOfVersion } from "./findings-of-cluster.ts";
import { findingsOfController, findingsOfDrainers, findingsOfDriver } from "./findings-of-driver.ts";
import { findingsOfBudgets, findingsOfZones } from "./findings-of-workloads.ts";
import type { Operator } from "./operator.ts";
import { painter } from "./paint.ts";
import { ANSWER_IS_NO, DONE, type ExitCode } from "./running.ts";
import type { Terminal } from "./simulate.ts";
import { structured } from "./structured.ts";
import { instanceOf } from "./target.ts";

export interface DoctorOptions {
  readonly output: Output;
  /** Auto Scaling groups, besides those of the configuration. */
  readonly group: readonly string[];
  /** Of the EKS cluster, where the kubeconfig calls it otherwise. */
  readonly clusterName?: string;
  /** A warning counts as an error. */
  readonly strict: boolean;
}

export async function doctor(
  options: DoctorOptions,
  operator: Operator,
  terminal: Terminal,
): Promise<ExitCode> {
  const findings = await diagnose(options, operator);
  const text = await structured(findings, options.output);
  const lines = text === undefined ? findingsText(findings, terminal.colour) : [text];
  for (const line of lines) terminal.print(line);
  const bad: readonly Level[] = options.strict ? ["error", "warning"] : ["error"];
  return findings.some(({ level }) => bad.includes(level)) ? ANSWER_IS_NO : DONE;
}

/** Where the cluster cannot be asked at all, that is told once. */
export async function diagnose(options: DoctorOptions, operator: Operator): Promise<readonly Finding[]> {
  const cluster = await lookedAt("cluster", () => findingsOfVersion(operator.inspection));
  const isReached = cluster.every(({ level }) => level !== "error");
  const inside = isReached ? await insideCluster(operator) : [];
  const aws = await outsideCluster(options, operator, isReached);
  return [...cluster, ...inside, ...aws].toSorted((a, b) => AREAS.indexOf(a.area) - AREAS.indexOf(b.area));
}

async function insideCluster({ inspection, policy }: Operator): Promise<readonly Finding[]> {
  const found = await Promise.all([
    lookedAt("rights", () => findingsOfOwnRights(inspection)),
    lookedAt("rights", () => findingsOfGroupRights(inspection)),
    lookedAt("csi driver", () => findingsOfDriver(inspection)),
    lookedAt("csi driver", async () => findingsOfController(await inspection.listDeployments())),
    lookedAt("other drainers", async () => {
      const sets = await inspection.listDaemonSets();
      const daemons = sets.map((set): WorkloadView => ({ kind: "DaemonSet", ...set }));
      return findingsOfDrainers([...daemons, ...(await inspection.listDeployments())]);
    }),
    lookedAt("budgets", async () => findingsOfBudgets(await inspection.listBudgets())),
    lookedAt("zones", async () => {
      const [sets, volumes, nodes] = await Promise.all([
        inspection.listStatefulSets(),
        inspection.listBoundVolumes(),
        inspection.listZoneNodes(),
      ]);
      return findingsOfZones({ sets, volumes, nodes, drivers: policy.drivers });
    }),
  ]);
  return found.flat();
}

async function outsideCluster(
  { group, clusterName }: DoctorOptions,
  operator: Operator,
  isReached: boolean,
): Promise<readonly Finding[]> {
  const { aws, policy } = operator;
  if (aws.kind === "none") {
    return [
      problem(
        "aws",
        "unknown",
        `AWS is not asked: ${aws.why}`,
        "lifecycle hooks, IAM and access entries could not be looked at",
        "ebs-drain doctor --profile NAME --region REGION",
      ),
    ];
  }
  const named = [...new Set([...operator.groups, ...group])];
  const groups = named.length > 0 || !isReached ? named : await groupsOfNodes(operator);
  const name = clusterName ?? operator.clusterName;
  const found = await Promise.all([
    lookedAt("aws", () => findingsOfIam(aws, groups[0], policy)),
    lookedAt("lifecycle hooks", () => findingsOfHooks(aws.inspection, groups, policy)),
    lookedAt("access", () => findingsOfAccess(aws.inspection, name)),
  ]);
  return found.flat();
}

/** Nobody named them: those that EC2 tags the Nodes' instances with. What cannot be read is told by its own area. */
async function groupsOfNodes({ cluster, aws }: Operator): Promise<readonly string[]> {
  if (aws.kind === "none") return [];
  const groups: string[] = [];
  await lookedAt("lifecycle hooks", async () => {
    const nodes: readonly NodeView[] = await cluster.listNodes();
    const ids = nodes.map(instanceOf).filter((id) => id.startsWith("i-"));
    const views = ids.length === 0 ? [] : await aws.ec2.describeInstances(ids);
    groups.push(...new Set(views.flatMap(({ group }) => group ?? [])));
    return [];
  });
  return groups.toSorted();
}

const MARKS: Readonly<Record<Level, string>> = { ok: "ok", unknown: "??", warning: "warn", error: "FAIL" };
const WEIGHTS = { ok: "good", unknown: "faint", warning: "key", error: "bad" } as const;

function findingsText(findings: readonly Finding[], colour: boolean): readonly string[] {
  const paint = painter(colour);
  const lines = AREAS.flatMap((area) => {
    const own = findings.filter((finding) => finding.area === area);
    return own.flatMap(({ level, what, why, fix }) => [
      `${paint(MARKS[level].padEnd(4), WEIGHTS[level])}  ${area}: ${what}`,
      ...(why === undefined ? [] : [`        why: ${why}`]),
      ...(fix === undefined ? [] : [`        fix: ${fix}`]),
    ]);
  });
  const count = (level: Level): number => findings.filter((finding) => finding.level === level).length;
  return [
    ...lines,
    "",
    `${count("error")} errors, ${count("warning")} warnings, ${count("unknown")} not looked at, ${count("ok")} well`,
  ];
}
