/** The machine that goes: EC2's state of it, its kubelet's reports, its lifecycle action, and the hook in its CSI node pod. */
import type { Instant } from "../../drain/time.ts";
import type { LifecycleRecord } from "../../sim/auto-scaling-actions.ts";
import { listed } from "../timeline.ts";
import type { Bar, Lane, Mark } from "./chart.ts";
import { barsOf, marksOf, notesOf } from "./recorded.ts";
import type { Recorded, Turn } from "./recorded.ts";

type State = Omit<Bar, "from" | "to">;
type Moment = Omit<Mark, "at"> & { readonly at: Instant };

const GROUP = "The machine";

export function lanesOfMachine(recorded: Recorded): readonly Lane[] {
  return [instanceLane(recorded), nodeLane(recorded), actionLane(recorded), hookLane(recorded)];
}

const INSTANCE_STATES: Readonly<Record<string, Omit<State, "label">>> = {
  pending: { tone: "moving", explanation: "EC2 starts the instance." },
  running: { tone: "old", explanation: "EC2 runs the instance." },
  "shutting-down": {
    tone: "off",
    explanation:
      "EC2 is shutting the instance down. What its kubelet has not reported by now it will never report.",
  },
  stopping: {
    tone: "off",
    explanation:
      "EC2 is stopping the instance. What its kubelet has not reported by now it will not report before it starts again.",
  },
  stopped: { tone: "off", explanation: "The instance is stopped. Its volumes stay attached to it in EC2." },
  terminated: { tone: "off", explanation: "The instance is gone; EC2 has released what was attached to it." },
};

function instanceLane(recorded: Recorded): Lane {
  const turns = notesOf(recorded, "ec2", recorded.run.scene.instance).flatMap(
    ({ at, text }): readonly Turn[] => {
      const state = INSTANCE_STATES[text];
      return state === undefined ? [] : [{ at, state: { label: text, ...state } }];
    },
  );
  const marks = notesOf(recorded, "ec2", recorded.run.scene.instance)
    .filter(({ text }) => INSTANCE_STATES[text] === undefined)
    .map(({ at, text }): Moment => ({ at, sign: "dot", label: text, explanation: `EC2: ${text}.` }));
  return {
    group: GROUP,
    name: "EC2 instance",
    bars: barsOf(turns, recorded),
    marks: marksOf(marks, recorded),
  };
}

/** The Node's volumesInUse: what the attach/detach controller goes by. */
function nodeLane(recorded: Recorded): Lane {
  const notes = notesOf(recorded, "node", recorded.run.scene.node ?? "");
  const turns = notes.flatMap(({ at, text }): readonly Turn[] => {
    if (text.startsWith("deleted:")) return [{ at }];
    if (text.startsWith("registered for")) return [{ at, state: inUse(0) }];
    const count = /^volumesInUse: (\d+)$/.exec(text)?.[1];
    return count === undefined ? [] : [{ at, state: inUse(Number(count)) }];
  });
  const marks = notes.flatMap(({ at, text }): readonly Moment[] => {
    if (text.startsWith("deleted:")) {
      return [
        {
          at,
          sign: "dot",
          label: "Node deleted",
          explanation: "The cloud controller deletes the Node object: its instance is gone.",
        },
      ];
    }
    return text.startsWith("Ready Unknown")
      ? [
          {
            at,
            sign: "bad",
            label: "Ready Unknown",
            explanation: "No word from the kubelet any more: Ready becomes Unknown.",
          },
        ]
      : [];
  });
  return {
    group: GROUP,
    name: "Kubelet's report",
    bars: barsOf(turns, recorded),
    marks: marksOf(marks, recorded),
  };
}

function inUse(count: number): State {
  return count === 0
    ? {
        tone: "new",
        label: "0 in use",
        explanation: "By its kubelet's last report no volume is in use: Kubernetes may detach each of them.",
      }
    : {
        tone: "old",
        label: `${count} in use`,
        explanation: `By its kubelet's last report ${count === 1 ? "one volume is" : `${count} volumes are`} in use. Kubernetes detaches no volume that is, unless six minutes pass.`,
      };
}

const CALLERS: Readonly<Record<string, string>> = {
  drain: "ebs-drain",
  hook: "the hook in the CSI node pod",
  "pod drainer": "the drainer",
  "time-out": "its time-out",
};

function actionLane(recorded: Recorded): Lane {
  const { run, names } = recorded;
  const history = run.world.autoScaling
    .getHistory()
    .filter(({ instance }) => instance === run.scene.instance);
  const turns = history.flatMap((record): readonly Turn[] => {
    if (record.kind === "opened") return [{ at: record.at, state: OPEN }];
    return isEnd(record) ? [{ at: record.at }] : [];
  });
  const beats = history
    .filter((record) => record.kind === "heartbeat" && record.outcome === "accepted")
    .map(({ at }): Moment => ({
      at,
      sign: "dot",
      routine: true,
      label: "heartbeat",
      explanation: "A heartbeat keeps the action open (D6).",
    }));
  const ends = run.witness.actionEnds.map(({ at, result, by, attached, pods }): Moment => {
    const held = attached.flatMap((handle) => names.podOf(handle) ?? []);
    const still = [
      ...(held.length > 0 ? [`the volume of ${listed(held)} is still attached`] : []),
      ...(pods.length > 0 ? [`${listed(pods)} still there`] : []),
    ];
    return {
      at,
      sign: still.length === 0 ? "good" : "bad",
      label: result,
      explanation: `${result} by ${CALLERS[by] ?? by}: ${still.length === 0 ? "no volume is attached any more" : still.join(", ")}.`,
    };
  });
  return {
    group: GROUP,
    name: "Lifecycle action",
    bars: barsOf(turns, recorded),
    marks: marksOf([...beats, ...ends], recorded),
  };
}

const OPEN: State = {
  tone: "held",
  label: "open",
  explanation:
    "Auto Scaling holds the instance in its lifecycle hook: it runs until somebody completes the action or no heartbeat comes.",
};

function isEnd(record: LifecycleRecord): boolean {
  switch (record.kind) {
    case "complete":
      return record.outcome === "accepted";
    case "expired":
    case "ended":
      return true;
    case "opened":
    case "heartbeat":
      return false;
    default:
      return record satisfies never;
  }
}

function hookLane(recorded: Recorded): Lane {
  const notes = notesOf(recorded, "hook", recorded.run.scene.node ?? "");
  const turns = notes.flatMap(({ at, text }): readonly Turn[] => {
    if (text.startsWith("asked:")) return [{ at, state: HOLDING }];
    return /^H\d+:/.test(text) ? [{ at }] : [];
  });
  const marks = notes.flatMap(({ at, text }): readonly Moment[] =>
    text.startsWith("asked:")
      ? []
      : [{ at, sign: "good", label: "answers", explanation: `The hook: ${text}.` }],
  );
  return { group: GROUP, name: "Hook", bars: barsOf(turns, recorded), marks: marksOf(marks, recorded) };
}

const HOLDING: State = {
  tone: "held",
  label: "holds the CSI node pod",
  explanation:
    "The CSI node pod is to end, and its preStop hook does not answer before no attachment of the node is left: the driver stays, so that volumes can be unmounted.",
};
