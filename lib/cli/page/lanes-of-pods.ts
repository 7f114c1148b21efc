/** A lane for each pod of a StatefulSet: where it runs, and what it waits for while it is away. */
import type { Instant } from "../../drain/time.ts";
import { SECOND } from "../../drain/time.ts";
import type { Happening } from "../../sim/seams.ts";
import type { Bar, Lane } from "./chart.ts";
import { after, barsOf } from "./recorded.ts";
import type { Recorded, Turn } from "./recorded.ts";

type State = Omit<Bar, "from" | "to">;

export function lanesOfPods(recorded: Recorded): readonly Lane[] {
  return recorded.run.witness.pods.map((pod) => ({
    group: "Pods",
    name: pod,
    bars: barsOf(withOutages(turnsOf(pod, recorded), pod, recorded), recorded),
    marks: [],
  }));
}

/** Only what is noted of the pod itself and of its volume; that a dead machine's pod serves nobody is in no note. */
function turnsOf(pod: string, recorded: Recorded): readonly Turn[] {
  const { run, names } = recorded;
  let node = "";
  return run.world.happenings.flatMap((happening): readonly Turn[] => {
    const { at, lane, subject, text } = happening;
    if (lane === "pod" && subject === pod) {
      node = after(text, "bound to ") ?? after(text, "running on ") ?? node;
      const state = stateOf(text, names.inWords(node), isOfMachine(node, recorded));
      return state === undefined ? [] : [{ at, state }];
    }
    const state = stateOfVolume(happening, pod, node, recorded);
    return state === undefined ? [] : [{ at, state }];
  });
}

function isOfMachine(node: string, { run }: Recorded): boolean {
  return node === run.scene.node;
}

function stateOf(text: string, place: string, isOld: boolean): State | undefined {
  if (text === "created") {
    return {
      tone: "bad",
      label: "unscheduled",
      explanation: "The StatefulSet has made the pod again; it waits for the scheduler to find a node.",
    };
  }
  if (text.startsWith("bound to ")) {
    return {
      tone: "bad",
      label: "waits for its volume",
      explanation: `Scheduled to ${place}. It cannot start before its volume is detached from where it was, attached to ${place} and mounted there.`,
    };
  }
  if (text.startsWith("running on ")) {
    return { tone: isOld ? "old" : "new", label: `on ${place}`, explanation: `Runs on ${place} and serves.` };
  }
  if (text.startsWith("stops on ")) {
    return {
      tone: "bad",
      label: "stops",
      explanation:
        "Evicted: its containers have their grace period to end. Its volume stays mounted until they have.",
    };
  }
  if (/^(stopped on |deleted for |collected)/.test(text)) {
    return {
      tone: "bad",
      label: "gone",
      explanation:
        "Its StatefulSet makes it again, as soon as the pod's object is gone and the pods with lower numbers are ready.",
    };
  }
  return undefined;
}

/** What the volume's way means to the pod that waits for it. */
function stateOfVolume(
  { lane, subject, text }: Happening,
  pod: string,
  node: string,
  { names }: Recorded,
): State | undefined {
  const place = names.inWords(node);
  if (lane === "attachment" && names.podOf(subject) === pod && text === `attached to ${node}`) {
    return {
      tone: "moving",
      label: "mounting",
      explanation: `Its volume is attached to ${place}. The kubelet waits to see that in the Node's status, then it mounts the volume.`,
    };
  }
  const [handle = "", what] = text.split(" ");
  if (lane === "kubelet" && subject === node && what === "mounted" && names.podOf(handle) === pod) {
    return {
      tone: "moving",
      label: "starts",
      explanation: `Its volume is mounted on ${place}; the containers start.`,
    };
  }
  return undefined;
}

/** Where the pod serves nobody although the API has it as running, its machine or its kubelet is what fails. */
function withOutages(turns: readonly Turn[], pod: string, recorded: Recorded): readonly Turn[] {
  const outages = recorded.run.witness.outages.filter((outage) => outage.pod === pod);
  const begins = outages.map(({ from }) => from);
  return turns.flatMap((turn, index): readonly Turn[] => {
    const isRunning = turn.state?.tone === "old" || turn.state?.tone === "new";
    // A pod that is deleted is out of service in that moment, and stops a moment later.
    const end: Instant = (turns[index + 1]?.at ?? Number.POSITIVE_INFINITY) - SECOND;
    const broken = isRunning ? begins.find((at) => at > turn.at && at < end) : undefined;
    return broken === undefined ? [turn] : [turn, { at: broken, state: LOST }];
  });
}

const LOST: State = {
  tone: "bad",
  label: "lost",
  explanation:
    "The API server still has the pod as running, but it serves nobody: its machine is gone. Nothing makes it again before somebody deletes it.",
};
