/** The hook's container, and the preStop that it and the containers it keeps alive get. */
import { HOOK_LABEL } from "../drain/names.ts";
import { HOOK_OBJECTS } from "../kubernetes/rbac-manifests.ts";
import type { HookInstall } from "./hook-install.ts";

export const HOOK_CONTAINER = HOOK_OBJECTS;
export const HOOK_PORT = 9810;
/** Seconds that a container gets which its liveness probe restarts: the pod's grace is for its end. */
export const RESTART_GRACE_SECONDS = 30;
/** The label's value says by which way the hook came. */
export type InstallWay = "admission-policy" | "kustomize" | "server-side-apply";

/** JSON, or an expression (`Cel`) where only the API server knows. */
export type Value = unknown;

/** What differs between the ways and the pods. */
export interface ContainerPlace {
  /** Address that the kubelet asks: empty is the pod's own, which the kubelet does not know with hostNetwork. */
  readonly probeHost: Value;
  /** Address that the hook listens on. */
  readonly listenHost: Value;
  /** Seconds. */
  readonly grace: Value;
  /** Containers that have a preStop to the hook, its own with them. */
  readonly hooks: number;
  /** The folder with the driver's socket, and the socket's path there. */
  readonly socket: { readonly mounts: Value; readonly path: Value };
}

/** Where the hook sees the driver's folder. */
export const SOCKET_FOLDER = "/csi";
export const SOCKET_PATH = `${SOCKET_FOLDER}/csi.sock`;
/** A user that no host gives anything to. */
const NOBODY = 65_532;
const DOWNWARD = {
  NODE_NAME: "spec.nodeName",
  POD_NAME: "metadata.name",
  POD_NAMESPACE: "metadata.namespace",
  POD_UID: "metadata.uid",
} as const;

/** Variables that the install sets itself. */
export const OWN_VARIABLES: readonly string[] = [
  ...Object.keys(DOWNWARD),
  ...["HOST", "CONTAINERS", "GRACE_SECONDS", "DRIVERS", "CSI_SOCKET", "PORT"].map(
    (name) => `EBS_DRAIN_HOOK_${name}`,
  ),
];

export function hookLabel(way: InstallWay): Readonly<Record<string, string>> {
  return { [HOOK_LABEL]: way };
}

export function preStop(path: Value, probeHost: Value) {
  return { preStop: { httpGet: { ...hostOf(probeHost), path, port: HOOK_PORT } } };
}

/** Names the container: a hook that comes alone is told from the pod's end by it (H4). */
export function preStopPath(container: string): string {
  return `/pre-stop?container=${container}`;
}

/** No startupProbe, and no livenessProbe: a restart in a hold would end the hold (docs/decisions/0018-no-startup-probe.md). */
export function hookContainer(install: HookInstall, place: ContainerPlace) {
  const { mounts, path } = place.socket;
  const fixed: readonly (readonly [string, Value])[] = [
    ["EBS_DRAIN_HOOK_HOST", place.listenHost],
    ["EBS_DRAIN_HOOK_CONTAINERS", String(place.hooks)],
    ["EBS_DRAIN_HOOK_GRACE_SECONDS", place.grace],
    ["EBS_DRAIN_HOOK_DRIVERS", install.driver],
    ...(install.unprivileged ? [] : [["EBS_DRAIN_HOOK_CSI_SOCKET", path] as const]),
    ...Object.entries(install.env),
  ];
  return {
    name: HOOK_CONTAINER,
    image: install.image,
    env: [
      ...Object.entries(DOWNWARD).map(([name, fieldPath]) => ({
        name,
        valueFrom: { fieldRef: { fieldPath } },
      })),
      ...fixed.map(([name, value]) => ({ name, value })),
    ],
    // A rollout of a hook that cannot work stops at the DaemonSet's maxUnavailable.
    readinessProbe: { httpGet: { ...hostOf(place.probeHost), path: "/readyz", port: HOOK_PORT } },
    lifecycle: preStop(preStopPath(HOOK_CONTAINER), place.probeHost),
    resources: { requests: { cpu: "10m", memory: "48Mi" }, limits: { memory: "96Mi" } },
    securityContext: securityContext(install),
    terminationMessagePolicy: "FallbackToLogsOnError",
    ...(install.unprivileged ? {} : { volumeMounts: mounts }),
  };
}

/**
 * The driver makes its socket as root with mode 0755, and who connects needs the right to write: root can by owning it, without any
 * capability; nobody else can.
 */
function securityContext({ unprivileged }: HookInstall) {
  return {
    ...(unprivileged ? { runAsUser: NOBODY, runAsGroup: NOBODY } : { runAsUser: 0, runAsGroup: 0 }),
    runAsNonRoot: unprivileged,
    privileged: false,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  };
}

function hostOf(host: Value): { readonly host?: Value } {
  return host === "" ? {} : { host };
}

/** A pod whose network mode is known when the manifest is written. */
export function knownPlace(
  { graceSeconds }: HookInstall,
  of: { readonly hostNetwork: boolean; readonly hooks: number; readonly volume: string },
): ContainerPlace {
  return {
    probeHost: of.hostNetwork ? "127.0.0.1" : "",
    listenHost: of.hostNetwork ? "127.0.0.1" : "::",
    grace: String(graceSeconds),
    hooks: of.hooks,
    socket: { mounts: [{ name: of.volume, mountPath: SOCKET_FOLDER, readOnly: true }], path: SOCKET_PATH },
  };
}
