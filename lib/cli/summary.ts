/** What it came to, in both worlds, in a few lines. */
import type { ActionFacts, Facts, WorkFacts } from "./facts.ts";
import type { Paint } from "./side-by-side.ts";
import { WIDTH } from "./side-by-side.ts";
import { spanText, timeText } from "./time-text.ts";
import { listed } from "./timeline.ts";
import { wrapped } from "./wrap.ts";

const LABEL = 42;
const VALUE = 28;

/** `podOf` names the pod of a volume. */
export function summaryOf(
  drained: Facts,
  unaided: Facts,
  podOf: (handle: string) => string | undefined,
  paint: Paint,
): readonly string[] {
  const row = ({ label, ours, theirs }: Compared): string =>
    `${label.padEnd(LABEL)}${ours.padEnd(VALUE)}${theirs}`.trimEnd();
  return [
    paint(row({ label: "", ours: "with ebs-drain", theirs: "pods only" }), "title"),
    ...comparisonOf(drained, unaided, podOf).map(row),
    "",
    ...costOf(drained).flatMap((line) => wrapped(line, WIDTH)),
  ];
}

/** One figure, of both worlds. */
export interface Compared {
  readonly label: string;
  readonly ours: string;
  readonly theirs: string;
}

export function comparisonOf(
  drained: Facts,
  unaided: Facts,
  podOf: (handle: string) => string | undefined,
): readonly Compared[] {
  const row = (label: string, ours: string, theirs: string): Compared => ({ label, ours, theirs });
  const apps = [...new Set([...drained.apps, ...unaided.apps].map(({ name }) => name))];
  return [
    ...apps.flatMap((app) => [
      row(`${app} complete again`, completeText(drained, app), completeText(unaided, app)),
      row(`${app}: longest time a pod was away`, outageText(drained, app), outageText(unaided, app)),
    ]),
    row("lifecycle action ended", actionText(drained.action), actionText(unaided.action)),
    row(
      "volumes still attached in that moment",
      attachedText(drained.action, podOf),
      attachedText(unaided.action, podOf),
    ),
  ];
}

function completeText({ apps }: Facts, name: string): string {
  const app = apps.find((each) => each.name === name);
  if (app === undefined) return "never away";
  return app.completeAfter === undefined ? "not in this run" : trimmed(timeText(app.completeAfter));
}

function outageText({ apps }: Facts, name: string): string {
  const app = apps.find((each) => each.name === name);
  return app === undefined ? "-" : spanText(app.longestOutage);
}

const CALLERS: Readonly<Record<string, string>> = {
  drain: "ebs-drain",
  hook: "the hook",
  "pod drainer": "the drainer",
  "time-out": "time-out",
};

function actionText(action: ActionFacts | undefined): string {
  return action === undefined
    ? "none"
    : `${trimmed(timeText(action.seconds))} by ${CALLERS[action.by] ?? action.by}`;
}

function attachedText(
  action: ActionFacts | undefined,
  podOf: (handle: string) => string | undefined,
): string {
  if (action === undefined) return "-";
  const pods = action.stillAttached.map((handle) => podOf(handle) ?? handle);
  return pods.length === 0 ? "none" : listed(pods);
}

/** What the drain took, a line for the whole and one for each piece of work. */
export function costOf({ drain }: Facts): readonly string[] {
  if (drain === undefined) return [];
  const { executions, invocations, heartbeats, works } = drain;
  return [
    `ebs-drain took ${counted(executions, "execution")} and ${counted(invocations, "invocation")} of its drain function, ${counted(heartbeats, "heartbeat")}:`,
    ...works.map((work) => `- ${workText(work)}`),
  ];
}

function workText(work: WorkFacts): string {
  const { kind, outcome, looks, kubernetesPerLook, nodeLists, attachmentLists, ec2Reads, autoScalingReads } =
    work;
  const { least, most } = kubernetesPerLook;
  const range = least === most ? `${most}` : `${least} to ${most}`;
  return `${kind} work, ${outcome}: ${counted(looks, "look")}; Kubernetes reads per look: ${range}; lists of all Nodes: ${nodeLists}, of all VolumeAttachments: ${attachmentLists} (I11); EC2 reads in all: ${ec2Reads}${kind === "gone" ? "" : " (I12)"}; Auto Scaling: ${autoScalingReads}`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function trimmed(text: string): string {
  return text.replace(/^\+ +/, "+ ");
}
