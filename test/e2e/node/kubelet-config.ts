/** The configuration of a real kubelet in namespaces of its own. */
import { RUNTIME_SOCKET } from "./container-runtime.ts";

/** More fields of a KubeletConfiguration, or others' values. */
export type KubeletConfig = Readonly<Record<string, unknown>>;

export function kubeletConfig(wanted: {
  readonly address: string;
  readonly controlGroup: string;
  readonly caFile: string;
  readonly podLogs: string;
  readonly changes: KubeletConfig;
}): KubeletConfig {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: wanted.address,
    healthzPort: 0,
    failCgroupV1: false,
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${wanted.controlGroup}`,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    containerRuntimeEndpoint: `unix://${RUNTIME_SOCKET}`,
    podLogsDir: wanted.podLogs,
    resolvConf: "",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: wanted.caFile },
    },
    authorization: { mode: "Webhook" },
    // As EKS has it; how soon volumesInUse is emptied in the API depends on it.
    nodeStatusUpdateFrequency: "10s",
    // Images are loaded by hand and nobody can pull them again; the disk is the whole machine's.
    imageGCHighThresholdPercent: 100,
    evictionHard: {
      "memory.available": "50Mi",
      "nodefs.available": "1%",
      "imagefs.available": "1%",
      "nodefs.inodesFree": "1%",
    },
    ...wanted.changes,
  };
}
