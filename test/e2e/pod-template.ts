/** The pods of a test, and how they behave on a stand-in kubelet. */
import { finishSecondsAnnotation, stopSecondsAnnotation } from "./pod-life.ts";

export interface PodBehaviour {
  /** What its containers need after SIGTERM. */
  readonly stopSeconds?: number;
  /** It succeeds by itself after this time. */
  readonly finishSeconds?: number;
  readonly graceSeconds?: number;
  readonly tolerations?: readonly Readonly<Record<string, unknown>>[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly priorityClassName?: string;
  readonly containers?: readonly Readonly<Record<string, unknown>>[];
}

export function podTemplate(app: string, behaviour: PodBehaviour) {
  const { stopSeconds, finishSeconds, graceSeconds, labels, annotations, containers, ...rest } = behaviour;
  const { tolerations, nodeSelector, affinity, priorityClassName } = rest;
  return {
    metadata: {
      labels: { app, ...labels },
      annotations: {
        ...annotations,
        ...(stopSeconds === undefined ? {} : { [stopSecondsAnnotation]: String(stopSeconds) }),
        ...(finishSeconds === undefined ? {} : { [finishSecondsAnnotation]: String(finishSeconds) }),
      },
    },
    spec: {
      containers: containers ?? [{ name: "main", image: "stand-in" }],
      ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
      ...(tolerations === undefined ? {} : { tolerations }),
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
      ...(affinity === undefined ? {} : { affinity }),
      ...(priorityClassName === undefined ? {} : { priorityClassName }),
    },
  };
}
