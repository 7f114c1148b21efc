/** The world's happenings that matter to the story, in plain words. */
import type { Happening } from "../sim/seams.ts";
import type { Run } from "./run.ts";
import type { Entry, Weight } from "./timeline.ts";
import type { Names } from "./timeline-names.ts";

interface Phrase {
  readonly lane: string;
  readonly text: RegExp;
  /** `$1` is the pattern's, `%s` the subject. */
  readonly say: string;
  readonly weight?: Weight;
  readonly once?: boolean;
}

/** What is in no row is not told. */
const PHRASES: readonly Phrase[] = [
  {
    lane: "group",
    text: /^(.*):Wait$/,
    say: "Auto Scaling holds the instance in its hook ($1:Wait)",
    weight: "key",
  },
  {
    lane: "group",
    text: /^Warmed:(Stopped|Running|Hibernated)$/,
    say: "the instance rests in the warm pool",
    weight: "key",
  },
  { lane: "ec2", text: /^shutting-down$/, say: "EC2: instance shutting down" },
  { lane: "ec2", text: /^(stopping|stopped|terminated|running)$/, say: "EC2: instance $1" },
  { lane: "ec2", text: /^root volume replaced/, say: "EC2: root volume replaced, instance rebooted" },
  {
    lane: "ec2",
    text: /^spot interruption warning: (.*)$/,
    say: "EC2 warns: spot $1 in 2 minutes",
    weight: "key",
  },
  { lane: "pod", text: /^stopped on/, say: "stopped: %s" },
  { lane: "pod", text: /^collected$/, say: "pod object collected: %s" },
  {
    lane: "pod",
    text: /^deleted for a NoExecute taint$/,
    say: "deleted for the NoExecute taint of its node: %s",
  },
  { lane: "kubelet", text: /^vol-\S+ unmounted$/, say: "volume unmounted: %s" },
  { lane: "kubelet", text: /^frozen$/, say: "the kubelet hangs", weight: "key" },
  { lane: "kubelet", text: /^runs again$/, say: "the kubelet runs again" },
  { lane: "node", text: /^volumesInUse: (\d+)$/, say: "kubelet's status report: volumes in use: $1" },
  { lane: "node", text: /^Ready Unknown/, say: "no word from the kubelet: Ready Unknown" },
  { lane: "node", text: /^deleted:/, say: "Node object deleted: its instance is gone" },
  { lane: "node", text: /^registered for/, say: "the Node registers", weight: "key" },
  {
    lane: "node",
    text: /^was previously registered/,
    say: "a kubelet takes up the Node object as it is",
    weight: "key",
  },
  { lane: "attachment", text: /^attached to (.*)$/, say: "volume attached to $1: %s" },
  {
    lane: "attachment",
    text: /^Multi-Attach: still on (.*)$/,
    say: "cannot start yet, volume still attached to $1: %s",
  },
  { lane: "attachment", text: /^EC2: busy/, say: "EC2: volume busy, still mounted: %s" },
  {
    lane: "attachment",
    text: /^leader gone$/,
    say: "the CSI controller's leader is gone: detaches wait for its lease",
  },
  { lane: "attachment", text: /^\S+ leads$/, say: "another pod of the CSI controller leads" },
  { lane: "event", text: /^lost: EC2 Instance-terminate/, say: "EventBridge loses the event", weight: "key" },
  { lane: "event", text: /^away$/, say: "the API server cannot be reached", weight: "key" },
  { lane: "event", text: /^back$/, say: "the API server is back", weight: "key" },
  { lane: "hook", text: /^asked:/, say: "the hook holds the CSI node pod until the volumes are gone" },
  { lane: "hook", text: /^(H\d+: .*)$/, say: "hook: $1" },
  { lane: "drain", text: /^cordons the node$/, say: "the drainer cordons the node" },
  { lane: "drain", text: /^evicted$/, say: "the drainer evicts %s" },
  {
    lane: "drain",
    text: /^refused by (.*)$/,
    say: "has to wait for PodDisruptionBudget $1: %s",
    once: true,
  },
  { lane: "drain", text: /^finds no Node$/, say: "the drainer finds no Node", once: true },
  { lane: "drain", text: /^cannot reach/, say: "the drainer cannot reach the API server", once: true },
  {
    lane: "drain",
    text: /^the pods are gone: done$/,
    say: "the drainer is done: the pods are gone",
    weight: "key",
  },
];

/** Notes of the scenario itself and of people in it. */
const SAID_BY_SCENARIO = /^(mended|a new instance|uncordoned|cordons the node, deletes)/;

export function linesOfWorld(
  run: Run,
  names: Names,
  happenings: readonly Happening[] = run.world.happenings,
): readonly Entry[] {
  return happenings.flatMap((happening) => entryOf(happening, run, names));
}

function entryOf(happening: Happening, run: Run, names: Names): readonly Entry[] {
  const { at, lane, subject, text } = happening;
  if (lane === "event" && SAID_BY_SCENARIO.test(text)) {
    const who = /^(a new instance)/.test(text) ? "" : `${subject} `;
    return [{ at, say: `${who}${text}`, subjects: [], weight: "key" }];
  }
  const phrase = PHRASES.find((each) => each.lane === lane && each.text.test(text));
  const about = phrase && subjectOf(happening, phrase, run, names);
  if (phrase === undefined || about === undefined) return [];
  const captured = phrase.text.exec(text)?.[1] ?? "";
  return [
    {
      at,
      say: names.inWords(phrase.say.replace("$1", captured)),
      subjects: about === "" ? [] : [about],
      weight: phrase.weight ?? "plain",
      ...(phrase.once === undefined ? {} : { once: phrase.once }),
    },
  ];
}

/** Whom the line names; empty for a line that names nobody, undefined for a happening that is not the story's. */
function subjectOf(
  { lane, subject, text }: Happening,
  phrase: Phrase,
  { scene, witness }: Run,
  names: Names,
): string | undefined {
  switch (lane) {
    case "group":
    case "ec2":
      return subject === scene.instance ? "" : undefined;
    case "node":
    case "hook":
      return subject === scene.node ? "" : undefined;
    case "kubelet":
      if (subject !== scene.node) return undefined;
      return phrase.say.includes("%s") ? names.podOf(text.split(" ")[0] ?? "") : "";
    case "pod":
      return witness.pods.includes(subject) ? subject : undefined;
    case "attachment":
      return phrase.say.includes("%s") ? names.podOf(subject) : "";
    case "drain":
      if (!phrase.say.includes("%s")) return "";
      return witness.pods.includes(subject) ? subject : undefined;
    default:
      return "";
  }
}
