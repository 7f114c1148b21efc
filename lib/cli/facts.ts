/** What a run comes to, in numbers. Seconds count from its zero. */
import { SECOND } from "../drain/time.ts";
import type { Embedded } from "./embedded.ts";
import type { Run } from "./run.ts";

export interface AppFacts {
  readonly name: string;
  /** Seconds until all its pods were up again for good; undefined: not within the run. Absent where none was ever down. */
  readonly completeAfter: number | undefined;
  /** Seconds of the longest time that one pod was away. */
  readonly longestOutage: number;
}

export interface ActionFacts {
  readonly seconds: number;
  readonly result: string;
  readonly by: string;
  /** Pods whose volume was still attached in that moment. */
  readonly stillAttached: readonly string[];
}

export interface DrainFacts {
  readonly executions: number;
  readonly invocations: number;
  readonly heartbeats: number;
  readonly works: readonly WorkFacts[];
}

/** One execution's looks and what they asked, by API. */
export interface WorkFacts {
  readonly kind: string;
  readonly outcome: string;
  readonly looks: number;
  /** Kubernetes reads of one look. */
  readonly kubernetesPerLook: { readonly least: number; readonly most: number };
  /** Lists of the whole cluster: of Nodes and of VolumeAttachments (I11). */
  readonly nodeLists: number;
  readonly attachmentLists: number;
  /** In all (I12). */
  readonly ec2Reads: number;
  readonly autoScalingReads: number;
}

export interface Facts {
  readonly apps: readonly AppFacts[];
  readonly action?: ActionFacts;
  readonly drain?: DrainFacts;
}

export function factsOf(run: Run): Facts {
  const { witness, zero, embedded } = run;
  const end = witness.actionEnds[0];
  return {
    apps: appsOf(run),
    ...(end === undefined
      ? {}
      : {
          action: {
            seconds: (end.at - zero) / SECOND,
            result: end.result,
            by: end.by,
            stillAttached: end.attached,
          },
        }),
    ...(embedded === undefined ? {} : { drain: drainFacts(embedded, run) }),
  };
}

function appsOf({ witness, zero, endedAt }: Run): readonly AppFacts[] {
  const names = [...new Set(witness.pods.map((pod) => pod.replace(/-\d+$/, "")))];
  return names.flatMap((name) => {
    const outages = witness.outages.filter(({ pod }) => pod.replace(/-\d+$/, "") === name);
    if (outages.length === 0) return [];
    const isComplete = outages.every(({ until }) => until !== undefined);
    return [
      {
        name,
        completeAfter: isComplete
          ? (Math.max(...outages.map(({ until = endedAt }) => until)) - zero) / SECOND
          : undefined,
        longestOutage: Math.max(...outages.map(({ from, until = endedAt }) => until - from)) / SECOND,
      },
    ];
  });
}

function drainFacts(embedded: Embedded, { world, scene }: Run): DrainFacts {
  const heartbeats = world.autoScaling
    .getHistory()
    .filter((record) => record.kind === "heartbeat" && record.instance === scene.instance);
  const executions = embedded.executions();
  const tasks = [...new Set(executions.map(({ task }) => task.id))];
  return {
    executions: executions.length,
    invocations: embedded.invocations(),
    heartbeats: heartbeats.length,
    works: tasks.flatMap((id) => workFacts(id, embedded)),
  };
}

function workFacts(id: string, { looks }: Embedded): readonly WorkFacts[] {
  const own = looks.filter(({ observation }) => observation.task.id === id);
  const last = own.at(-1);
  if (last === undefined) return [];
  const calls = own.map(({ observation }) => observation.calls);
  const sum = (prefix: string): number =>
    calls.flatMap((each) => countsOf(each, prefix)).reduce((total, count) => total + count, 0);
  const perLook = calls.map((each) =>
    countsOf(each, "kubernetes.").reduce((total, count) => total + count, 0),
  );
  const { next } = last.decision;
  return [
    {
      kind: last.observation.task.kind,
      outcome: next.kind === "done" ? next.outcome : "open",
      looks: own.length,
      kubernetesPerLook: { least: Math.min(...perLook), most: Math.max(...perLook) },
      nodeLists: sum("kubernetes.listNodes"),
      attachmentLists: sum("kubernetes.listAttachmentRows"),
      ec2Reads: sum("ec2."),
      autoScalingReads: sum("autoScaling."),
    },
  ];
}

function countsOf(calls: Readonly<Record<string, number>>, prefix: string): readonly number[] {
  return Object.entries(calls).flatMap(([method, count]) => (method.startsWith(prefix) ? [count] : []));
}
