/** The lines that decide the story: the action's end with what the machine still held, and the machine's own end. */
import { MINUTE } from "../drain/time.ts";
import type { Run } from "./run.ts";
import type { Entry } from "./timeline.ts";
import { listed } from "./timeline.ts";
import type { Names } from "./timeline-names.ts";
import type { ActionEnd, HeldVolume } from "./witness.ts";

export function linesOfWitness(run: Run, names: Names): readonly Entry[] {
  const { witness } = run;
  const { machineEnd, actionEnds, volumes, outages } = witness;
  const inUse = (machineEnd?.inUse ?? []).flatMap((handle) => names.podOf(handle) ?? []);
  return [
    ...actionEnds.map((end) => lineOfEnd(end, names)),
    ...(machineEnd === undefined || inUse.length === 0
      ? []
      : [
          {
            at: machineEnd.at,
            say: "nothing runs there any more, but the kubelet's last report has volumes in use, and Kubernetes gives that 6 minutes: %s",
            subjects: inUse,
            weight: "bad" as const,
          },
        ]),
    ...lineOfCordon(run),
    ...volumes.flatMap((volume) => lineOfDetach(volume, machineEnd?.at ?? Number.POSITIVE_INFINITY)),
    ...outages.flatMap(({ pod, until }) =>
      until === undefined
        ? []
        : [{ at: until, say: "up again: %s", subjects: [pod], weight: "key" as const }],
    ),
  ];
}

/** A node in service that nothing can be scheduled to, because somebody forgot the cordon. */
function lineOfCordon({ world, scene, endedAt }: Run): readonly Entry[] {
  const isInService = world.autoScaling.member(scene.instance)?.lifecycleState === "InService";
  const isCordoned = world.cluster
    .nodes()
    .some(({ name, unschedulable }) => name === scene.node && unschedulable);
  const say = "the node is in service again, and still cordoned";
  return isInService && isCordoned ? [{ at: endedAt, say, subjects: [], weight: "bad" }] : [];
}

const CALLERS: Readonly<Record<string, string>> = {
  drain: "ebs-drain completes the action",
  hook: "the hook in the CSI node pod completes the action",
  "pod drainer": "the drainer completes the action",
  "time-out": "no heartbeat came: the action runs out",
};

function lineOfEnd({ at, result, by, attached, pods }: ActionEnd, names: Names): Entry {
  const held = attached.flatMap((handle) => names.podOf(handle) ?? []);
  const still = [
    ...(held.length > 0 ? [`the volume of ${listed(held)} is still attached`] : []),
    ...(pods.length > 0 ? [`${listed(pods)} still there`] : []),
  ];
  const rest = still.length === 0 ? "no volume is attached any more" : still.join(", ");
  return {
    at,
    say: `${CALLERS[by] ?? by}: ${result}; ${rest}`,
    subjects: [],
    weight: still.length === 0 ? "good" : "bad",
  };
}

/** A controller that waits for a machine which will never report again forces the detach after six minutes. */
function lineOfDetach({ pod, unattachedAt }: HeldVolume, endOfMachine: number): readonly Entry[] {
  if (unattachedAt === undefined) return [];
  const isForced = unattachedAt - endOfMachine > 4 * MINUTE;
  const say = isForced
    ? "after its 6 minutes Kubernetes detaches the volume by force: %s"
    : "volume detached, EC2 and Kubernetes agree: %s";
  return [{ at: unattachedAt, say, subjects: [pod], weight: isForced ? "key" : "plain" }];
}
