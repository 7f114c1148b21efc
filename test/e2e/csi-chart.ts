/** DaemonSets of the EBS CSI driver's node pods, shaped as its chart renders them (version 2.64). */
import type { ApiObject } from "./api-objects.ts";

export interface ChartOptions {
  readonly name?: string;
  readonly namespace?: string;
  readonly driver?: string;
  readonly os?: "linux" | "windows";
  readonly hostNetwork?: boolean;
  readonly graceSeconds?: number;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly driverImage?: string;
}

export interface DaemonSet extends ApiObject {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: CsiPodSpec;
    };
  } & Readonly<Record<string, unknown>>;
}

export interface CsiContainer {
  readonly name: string;
  readonly image: string;
  readonly lifecycle?: { readonly preStop?: Readonly<Record<string, unknown>> };
  readonly livenessProbe?: Readonly<Record<string, unknown>>;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly volumeMounts?: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

export interface CsiPodSpec {
  readonly containers: readonly CsiContainer[];
  readonly terminationGracePeriodSeconds?: number;
  readonly [field: string]: unknown;
}

const COMPUTE_TYPE = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        {
          matchExpressions: [
            {
              key: "eks.amazonaws.com/compute-type",
              operator: "NotIn",
              values: ["fargate", "auto", "hybrid"],
            },
          ],
        },
      ],
    },
  },
};

export function chartDaemonSet(options: ChartOptions = {}): DaemonSet {
  const { name = "ebs-csi-node", namespace = "kube-system", os = "linux" } = options;
  const labels = { app: name, "app.kubernetes.io/name": "aws-ebs-csi-driver" };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
      template: {
        metadata: { labels },
        spec: {
          affinity: COMPUTE_TYPE,
          nodeSelector: { "kubernetes.io/os": os, ...options.nodeSelector },
          serviceAccountName: "ebs-csi-node-sa",
          terminationGracePeriodSeconds: options.graceSeconds ?? 30,
          ...(namespace === "kube-system" ? { priorityClassName: "system-node-critical" } : {}),
          tolerations: [{ operator: "Exists" }],
          hostNetwork: options.hostNetwork ?? false,
          securityContext: { runAsNonRoot: false, runAsUser: 0, runAsGroup: 0, fsGroup: 0 },
          containers: [driverContainer(options), registrar(options), livenessProbe()],
          volumes: volumes(options.driver),
        },
      },
    },
  };
}

function driverContainer({
  driverImage = "example.com/aws-ebs-csi-driver:v1.64.0",
}: ChartOptions): CsiContainer {
  const probe = { httpGet: { path: "/healthz", port: "healthz" }, timeoutSeconds: 3 };
  return {
    name: "ebs-plugin",
    image: driverImage,
    args: [
      "node",
      "--endpoint=$(CSI_ENDPOINT)",
      "--csi-mount-point-prefix=/var/lib/kubelet/plugins/kubernetes.io/csi/ebs.csi.aws.com/",
      "--logging-format=text",
      "--v=2",
    ],
    env: [
      { name: "CSI_ENDPOINT", value: "unix:/csi/csi.sock" },
      { name: "CSI_NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } } as { name: string },
    ],
    volumeMounts: [
      { name: "kubelet-dir", mountPath: "/var/lib/kubelet", mountPropagation: "Bidirectional" },
      { name: "plugin-dir", mountPath: "/csi" },
      { name: "device-dir", mountPath: "/dev" },
    ],
    ports: [{ name: "healthz", containerPort: 9808, protocol: "TCP" }],
    livenessProbe: { ...probe, initialDelaySeconds: 10, periodSeconds: 10, failureThreshold: 5 },
    readinessProbe: { ...probe, periodSeconds: 5, failureThreshold: 3 },
    securityContext: { readOnlyRootFilesystem: true, privileged: true },
    lifecycle: { preStop: { exec: { command: ["/bin/aws-ebs-csi-driver", "pre-stop-hook"] } } },
    terminationMessagePolicy: "FallbackToLogsOnError",
  };
}

function registrar({ driver = "ebs.csi.aws.com" }: ChartOptions): CsiContainer {
  return {
    name: "node-driver-registrar",
    image: "example.com/node-driver-registrar:v2.17.0",
    args: [
      "--csi-address=$(ADDRESS)",
      "--kubelet-registration-path=$(DRIVER_REG_SOCK_PATH)",
      "--http-endpoint=0.0.0.0:9809",
      "--v=2",
    ],
    env: [
      { name: "ADDRESS", value: "/csi/csi.sock" },
      { name: "DRIVER_REG_SOCK_PATH", value: `/var/lib/kubelet/plugins/${driver}/csi.sock` },
    ],
    ports: [{ name: "healthz-ndr", containerPort: 9809, protocol: "TCP" }],
    livenessProbe: { httpGet: { path: "/healthz", port: "healthz-ndr" }, initialDelaySeconds: 30 },
    volumeMounts: [
      { name: "plugin-dir", mountPath: "/csi" },
      { name: "registration-dir", mountPath: "/registration" },
      { name: "probe-dir", mountPath: `/var/lib/kubelet/plugins/${driver}/` },
    ],
    securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
  };
}

function livenessProbe(): CsiContainer {
  return {
    name: "liveness-probe",
    image: "example.com/livenessprobe:v2.19.0",
    args: ["--csi-address=/csi/csi.sock"],
    volumeMounts: [{ name: "plugin-dir", mountPath: "/csi" }],
    securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
  };
}

function volumes(driver = "ebs.csi.aws.com"): readonly object[] {
  const hostPath = (name: string, path: string, type: string) => ({ name, hostPath: { path, type } });
  return [
    hostPath("kubelet-dir", "/var/lib/kubelet", "Directory"),
    hostPath("plugin-dir", `/var/lib/kubelet/plugins/${driver}/`, "DirectoryOrCreate"),
    hostPath("registration-dir", "/var/lib/kubelet/plugins_registry/", "Directory"),
    hostPath("device-dir", "/dev", "Directory"),
    { name: "probe-dir", emptyDir: {} },
  ];
}
