/** What an install of the hook can be told; all ways of installing it share this. */
import { EBS_DRIVER } from "../drain/names.ts";
import { CSI_NAMESPACE } from "../engine/permissions.ts";
import { HOOK_ACCOUNT } from "../kubernetes/rbac-manifests.ts";

export interface HookInstall {
  /** Of the hook. There is no default: whoever runs it on each node says where it comes from. */
  readonly image: string;
  /** Of the CSI node pods. */
  readonly namespace: string;
  /** Of the CSI node pods. */
  readonly serviceAccount: string;
  /** The CSI driver's name. */
  readonly driver: string;
  /** Seconds that the pod's end may take. The admission policy keeps a longer grace period, server-side apply changes none. */
  readonly graceSeconds: number;
  /** More of the container's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs as no user that the host knows, and sees nothing of the host: then it cannot notice that the driver is gone (H12). */
  readonly unprivileged: boolean;
}

export const INSTALL_DEFAULTS: Omit<HookInstall, "image"> = {
  namespace: CSI_NAMESPACE,
  serviceAccount: HOOK_ACCOUNT,
  driver: EBS_DRIVER,
  // Where somebody else's drain ends the pod before the workloads have stopped; a rollout does not wait for it (H1).
  graceSeconds: 600,
  env: {},
  unprivileged: false,
};

/** A file of an install, as it is printed or written. */
export interface InstallFile {
  readonly name: string;
  readonly text: string;
  readonly executable?: true;
}

/** As the chart of the EBS CSI driver, and the EKS add-on made of it, name them whatever the driver is called. */
export const CHART = {
  daemonSet: "ebs-csi-node",
  driverContainer: "ebs-plugin",
  registrarContainer: "node-driver-registrar",
  socketVolume: "plugin-dir",
  graceSeconds: 30,
} as const;
