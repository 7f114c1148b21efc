/** The EBS CSI driver's node pods as its chart describes them, with stand-ins in the place of upstream's programs. */
import { type ChartOptions, type CsiContainer, type DaemonSet, chartDaemonSet } from "../csi-chart.ts";
import type { RealNode } from "./real-node.ts";
import { STAND_IN_IMAGE } from "./stand-in-image.ts";

/** The images' entrypoints. */
const programs: Readonly<Record<string, string>> = {
  "ebs-plugin": "aws-ebs-csi-driver",
  "node-driver-registrar": "csi-node-driver-registrar",
  "liveness-probe": "livenessprobe",
};

/** The chart's liveness probe restarts after 50 s, and ready it is after up to 5; a test need not wait that long. */
const livenessTimes = { initialDelaySeconds: 2, periodSeconds: 2, failureThreshold: 2 };
const readinessTimes = { periodSeconds: 1 };

export interface CsiNodePodOptions extends ChartOptions {
  /** Changes with each rollout. */
  readonly version?: string;
  /** Without the driver's own preStop. */
  readonly withoutHook?: boolean;
}

/** On this node only: the other machines' kubelets are stood in for. */
export function csiNodePods(node: RealNode, options: CsiNodePodOptions = {}): DaemonSet {
  const nodeSelector = { "kubernetes.io/hostname": node.name, ...options.nodeSelector };
  const chart = chartDaemonSet({ ...options, nodeSelector });
  const { metadata, spec } = chart.spec.template;
  const volumes = [
    ...(spec["volumes"] as readonly object[]),
    { name: "volumes", hostPath: { path: node.volumes, type: "Directory" } },
  ];
  const containers = spec.containers.map((container) => standIn(container, node, options));
  const annotations = { version: options.version ?? "1" };
  const template = { metadata: { ...metadata, annotations }, spec: { ...spec, containers, volumes } };
  return { ...chart, spec: { ...chart.spec, template } };
}

function standIn(
  container: CsiContainer,
  node: RealNode,
  { withoutHook = false }: CsiNodePodOptions,
): CsiContainer {
  const runs = {
    ...container,
    image: STAND_IN_IMAGE,
    imagePullPolicy: "Never",
    command: [`/bin/${programs[container.name]}`],
  };
  if (container.name !== "ebs-plugin") return runs;
  const { lifecycle, ...driver } = runs;
  return {
    ...driver,
    ...(withoutHook || lifecycle === undefined ? {} : { lifecycle }),
    env: [...(container.env ?? []), { name: "INSTANCE_ID", value: node.instanceId }],
    volumeMounts: [...(container.volumeMounts ?? []), { name: "volumes", mountPath: "/volumes" }],
    livenessProbe: { ...container.livenessProbe, ...livenessTimes },
    readinessProbe: { ...(container["readinessProbe"] as object), ...readinessTimes },
  };
}
