/** What ebs-drain does, from its executions, its changes in the cluster and its decisions. */
import { OUT_OF_SERVICE_TAINT } from "../drain/names.ts";
import type { EventReason } from "../drain/names.ts";
import type { LookRecord } from "../engine/ports.ts";
import type { ChangeRecord } from "../sim/cluster-port.ts";
import type { RunExecution } from "../sim/invariants.ts";
import type { Embedded } from "./embedded.ts";
import type { Run } from "./run.ts";
import type { Entry, Weight } from "./timeline.ts";
import type { Names } from "./timeline-names.ts";

export function linesOfDrain(embedded: Embedded, run: Run, names: Names): readonly Entry[] {
  return [...linesOfActs(embedded, run, names), ...linesOfLooks(embedded.looks, names)];
}

/** What it starts and changes, without what its looks decide. */
export function linesOfActs(embedded: Embedded, run: Run, names: Names): readonly Entry[] {
  const { world, scene, witness } = run;
  const changes = world.clusterPort.changes.filter(({ node }) => node === scene.node);
  return [
    ...embedded.executions().map(lineOfStart),
    ...changes.flatMap((change) => linesOfChange(change, witness.pods, names)),
  ];
}

function entry(at: number, say: string, weight: Weight = "plain", subjects: readonly string[] = []): Entry {
  return { at, say, weight, subjects };
}

function lineOfStart({ name, task, startedAt }: RunExecution): Entry {
  const by = /-sweep-/.test(name) ? "the sweep" : "dispatch";
  switch (task.kind) {
    case "lifecycle":
      return entry(startedAt, `${by} starts the drain`, "key");
    case "spot":
      return entry(startedAt, `${by} starts the drain against the clock (D16)`, "key");
    case "manual":
      return entry(startedAt, "an operator drains the Node (D19)", "key");
    case "gone":
      return { ...entry(startedAt, `${by} has the gone machine looked after (D14)`), once: true };
    default:
      return task satisfies never;
  }
}

function linesOfChange(change: ChangeRecord, pods: readonly string[], names: Names): readonly Entry[] {
  const { method, at, outcome, pod, event, graceSeconds } = change;
  const subjects = pod !== undefined && pods.includes(pod.name) ? [pod.name] : undefined;
  switch (method) {
    case "patchNode":
      return outcome === "done" ? linesOfPatch(change) : [];
    case "evictPod": {
      if (subjects === undefined) return [];
      if (outcome === "done") {
        const grace = graceSeconds === undefined ? "" : `, grace cut to ${graceSeconds} s`;
        return [entry(at, `evicts by uid${grace} (D7): %s`, "plain", subjects)];
      }
      if (outcome !== "disruption-budget") return [];
      return [
        { ...entry(at, "has to wait for its PodDisruptionBudget (D7): %s", "plain", subjects), once: true },
      ];
    }
    case "deletePod":
      return subjects !== undefined && graceSeconds === 0 && outcome === "done"
        ? [entry(at, "and deletes by force, by uid (D14): %s", "key", subjects)]
        : [];
    case "recordEvent":
      return event === undefined ? [] : linesOfEvent(at, event.reason, names.inWords(event.message));
    case "failPod":
      return [];
    default:
      return method satisfies never;
  }
}

function linesOfPatch({ at, patch = [] }: ChangeRecord): readonly Entry[] {
  const has = (op: string, path: string, value?: unknown): boolean =>
    patch.some(
      (step) =>
        step.op === op &&
        step.path.startsWith(path) &&
        (value === undefined || ("value" in step && step.value === value)),
    );
  const adds = patch.filter(({ op }) => op === "add");
  if (adds.some((step) => JSON.stringify(step).includes(OUT_OF_SERVICE_TAINT))) {
    return [entry(at, "proved dead: taints the Node out-of-service (D14)", "key")];
  }
  if (has("add", "/spec/unschedulable", true)) {
    return [entry(at, "cordons the node, before any other change (D5)")];
  }
  if (has("replace", "/spec/unschedulable", false))
    return [entry(at, "takes its cordon back (D15, I8)", "good")];
  if (has("remove", "/spec/taints")) return [entry(at, "takes the out-of-service taint off")];
  return [];
}

/** Events on the Node that no other line tells. */
const TOLD_EVENTS: readonly EventReason[] = [
  "HandedOff",
  "DrainDeadlineNear",
  "DrainDeadline",
  "CompletedByOther",
  "NodeAdopted",
];

function linesOfEvent(at: number, reason: EventReason, message: string): readonly Entry[] {
  if (!TOLD_EVENTS.includes(reason)) return [];
  const isNews = reason !== "HandedOff";
  return [entry(at, `Event ${reason}: ${shortened(message)}`, isNews ? "bad" : "key")];
}

/** A line per change of what the work waits for. */
function linesOfLooks(looks: readonly LookRecord[], names: Names): readonly Entry[] {
  const told = new Map<string, string>();
  return looks.flatMap(({ observation: { at, task }, decision }) => {
    const line = sayOf(decision, names);
    if (line === undefined || told.get(task.id) === line.say) return [];
    told.set(task.id, line.say);
    return [{ at, ...line }];
  });
}

type Said = Omit<Entry, "at">;

function said(say: string, weight: Weight = "plain", subjects: readonly string[] = []): Said {
  return { say, weight, subjects, ...(weight === "plain" ? { once: true } : {}) };
}

function sayOf(
  { phase, rules, reason, agrees, verdicts, next }: LookRecord["decision"],
  names: Names,
): Said | undefined {
  const rule = ` (${rules[0] ?? ""})`;
  const text = names.inWords(reason);
  switch (phase) {
    case "detaching": {
      // The hand-over has an Event, which says when it was done.
      if (rules.includes("D10")) return undefined;
      const held = verdicts.flatMap(({ blocks, handle }) => (blocks && handle !== undefined ? [handle] : []));
      const pods = held.flatMap((handle) => names.podOf(handle) ?? []);
      return rules.includes("D11") && pods.length > 0
        ? said(`waits for volumes${rule}: %s`, "plain", pods)
        : said(`${shortened(text)}${rule}`);
    }
    case "confirming":
      return agrees === undefined ? undefined : said(`nothing blocks: one more look must agree${rule}`);
    case "awaiting-ec2":
    case "proving-death":
      return said(`${shortened(text.split(";")[0] ?? text)}${rule}`);
    case "blind":
      return said("cannot see: nothing is completed, heartbeats go on (D17)");
    case "locating":
      return said(`${shortened(text)}${rule}`);
    case "ending":
      return next.kind === "done" ? endOf(next.outcome, `${shortened(text)}${rule}`) : undefined;
    case "cordoning":
    case "evicting":
    case "forcing-off":
      return undefined;
    default:
      return phase satisfies never;
  }
}

/** Completions have a line of their own: what the machine still held then. */
function endOf(outcome: string, text: string): Said | undefined {
  const left = / left as they are: (?!nothing)(.*)$/.exec(text)?.[1];
  if (outcome === "completed" && left !== undefined) return said(`left as they are: ${left}`, "key");
  if (outcome === "completed" || outcome === "deadline") return undefined;
  return said(`the work ends, ${outcome}: ${text}`);
}

const LONGEST = 120;

function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 2)} …`;
}
