/** A volume's way from node to node: its mount, its VolumeAttachment, and what EC2 says. */
import type { Happening } from "../../sim/seams.ts";
import type { Bar, Lane } from "./chart.ts";
import { after, barsOf, notesOf } from "./recorded.ts";
import type { Recorded, Turn } from "./recorded.ts";

type State = Omit<Bar, "from" | "to">;
/** Where it is, and what it is there; without a state it is there no more. */
interface Place {
  readonly where: string;
  readonly state?: State;
}
type Reading = (happening: Happening, handle: string, recorded: Recorded) => Place | undefined;

export function lanesOfVolumes(recorded: Recorded): readonly Lane[] {
  const handles = handlesOf(recorded);
  const group = (name: string, reading: Reading): readonly Lane[] =>
    handles.map((handle) => ({
      group: name,
      name: recorded.names.podOf(handle) ?? handle,
      bars: barsOfPlaces(handle, reading, recorded),
      marks: [],
    }));
  return [
    ...group("Mounts", mountOf),
    ...group("VolumeAttachments", attachmentOf),
    ...group("EC2 attachments", ec2Of),
  ];
}

/** In the order of the pods' lanes. */
function handlesOf({ run, names }: Recorded): readonly string[] {
  const handles = [
    ...new Set(
      run.world.happenings.filter(({ lane }) => lane === "attachment").map(({ subject }) => subject),
    ),
  ];
  return run.witness.pods.flatMap((pod) => handles.filter((handle) => names.podOf(handle) === pod));
}

/** On two nodes at once it may be only for a moment: each place has bars of its own. */
function barsOfPlaces(handle: string, reading: Reading, recorded: Recorded): readonly Bar[] {
  const places = new Map<string, Turn[]>();
  for (const happening of recorded.run.world.happenings) {
    const place = reading(happening, handle, recorded);
    if (place === undefined) continue;
    const { where, state } = place;
    const turns = places.get(where) ?? [];
    turns.push({ at: happening.at, ...(state === undefined ? {} : { state }) });
    places.set(where, turns);
  }
  return [...places.values()].flatMap((turns) => barsOf(turns, recorded)).sort((a, b) => a.from - b.from);
}

function mountOf({ lane, subject, text }: Happening, handle: string, recorded: Recorded): Place | undefined {
  if (lane !== "kubelet") return undefined;
  if (text === "machine off" || text === `${handle} unmounted`) return { where: subject };
  if (text !== `${handle} mounted`) return undefined;
  const where = recorded.names.inWords(subject);
  return {
    where: subject,
    state: {
      tone: toneOf(subject, recorded),
      label: `on ${where}`,
      explanation: `The file system is mounted on ${where}. EC2 cannot detach it cleanly as long as it is.`,
    },
  };
}

function attachmentOf(
  { lane, subject, text }: Happening,
  handle: string,
  recorded: Recorded,
): Place | undefined {
  if (lane !== "attachment" || subject !== handle) return undefined;
  const { names } = recorded;
  const gone = after(text, "detached from ");
  if (gone !== undefined) return { where: gone };
  const wanted = /^attachment to (\S+) created$/.exec(text)?.[1];
  if (wanted !== undefined) return { where: wanted, state: wantedState(names.inWords(wanted)) };
  const there = after(text, "attached to ");
  if (there !== undefined) return { where: there, state: attachedState(there, recorded) };
  const leaving = /^detach from (\S+) asked for$/.exec(text)?.[1];
  return leaving === undefined ? undefined : { where: leaving, state: leavingState(names.inWords(leaving)) };
}

function wantedState(place: string): State {
  return {
    tone: "moving",
    label: "attaching",
    explanation: `Kubernetes wants the volume on ${place}: the VolumeAttachment is there, the CSI driver has EC2 attach it.`,
  };
}

function attachedState(node: string, recorded: Recorded): State {
  const place = recorded.names.inWords(node);
  const waits =
    node === recorded.run.scene.node
      ? " It stays so until the kubelet has reported the unmount, with its status every ten seconds. From a machine that is gone no report comes, and Kubernetes waits six minutes."
      : "";
  return {
    tone: toneOf(node, recorded),
    label: `on ${place}`,
    explanation: `Kubernetes has the volume attached to ${place}: it may be mounted there, and nowhere else.${waits}`,
  };
}

function leavingState(place: string): State {
  return {
    tone: "moving",
    label: "detaching",
    explanation: `Kubernetes has asked for the detach from ${place}; the CSI driver waits for EC2 to have done it.`,
  };
}

const EC2_STATES: Readonly<Record<string, Pick<State, "tone" | "explanation" | "label">>> = {
  attaching: { tone: "moving", label: "attaching to", explanation: "EC2 attaches the volume to" },
  detaching: { tone: "moving", label: "detaching from", explanation: "EC2 detaches the volume from" },
  busy: {
    tone: "bad",
    label: "busy on",
    explanation: "EC2 cannot detach the volume, it is still mounted on",
  },
};

function ec2Of({ lane, subject, text }: Happening, handle: string, recorded: Recorded): Place | undefined {
  const [, state = "", instance = ""] = /^EC2: (\S+) (\S+)$/.exec(text) ?? [];
  if (lane !== "attachment" || subject !== handle || instance === "") return undefined;
  if (state === "detached") return { where: instance };
  const node = nodeOf(instance, recorded);
  const place = recorded.names.inWords(node);
  const { tone, label, explanation } = EC2_STATES[state] ?? {
    tone: toneOf(node, recorded),
    label: "attached to",
    explanation: "EC2 has the volume attached to",
  };
  return {
    where: instance,
    state: { tone, label: `${label} ${place}`, explanation: `${explanation} ${place}.` },
  };
}

/** The last Node that registered for it. */
function nodeOf(instance: string, recorded: Recorded): string {
  if (instance === recorded.run.scene.instance) return recorded.run.scene.node ?? instance;
  const joined = notesOf(recorded, "node").findLast(({ text }) => text.endsWith(` ${instance}`));
  return joined?.subject ?? instance;
}

function toneOf(node: string, { run }: Recorded): "old" | "new" {
  return node === run.scene.node ? "old" : "new";
}
