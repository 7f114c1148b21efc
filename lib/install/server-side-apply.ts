/**
 * The hook by server-side apply with a field manager of its own, beside the EKS add-on's: what an add-on does not name it leaves alone,
 * also when it applies by force. Its own preStop of the driver's container it does name, so that one stays.
 */
import { hookRbacManifests } from "../kubernetes/rbac-manifests.ts";
import { type DaemonSetInstall, daemonSetPatches } from "./daemon-set-patch.ts";
import type { InstallFile } from "./hook-install.ts";
import { manifestYaml } from "./manifest-yaml.ts";

/** Whoever applies the files has to say it each time. */
export const FIELD_MANAGER = "ebs-drain";

const APPLY = `kubectl apply --server-side --field-manager=${FIELD_MANAGER} -f`;

const HEADER = `The hook of ebs-drain beside the EKS add-on of the EBS CSI driver. A part of its DaemonSet: never use \`kubectl delete\` with this file,
it would delete the driver.
  install:  ${APPLY} rbac.yaml -f daemonset.yaml
  remove:   ${APPLY} remove.yaml && kubectl delete -f rbac.yaml
The pods' grace period is the add-on's; raise it in the add-on's configuration, {"node":{"terminationGracePeriodSeconds":600}}, and say
the same with --grace-seconds.`;

const REMOVE_HEADER = `Takes what ${FIELD_MANAGER} added from the DaemonSet of the EBS CSI driver, and leaves the DaemonSet: applied, not deleted.
  ${APPLY} remove.yaml`;

export function serverSideApply(install: DaemonSetInstall): readonly InstallFile[] {
  const { namespace, serviceAccount } = install;
  const parts = daemonSetPatches(install, "server-side-apply", "registrar");
  const bare = parts.map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata }));
  const rbac = hookRbacManifests({ namespace, serviceAccount });
  return [
    { name: "rbac.yaml", text: manifestYaml("What the hook of ebs-drain may do in a cluster.", rbac) },
    { name: "daemonset.yaml", text: manifestYaml(HEADER, parts) },
    { name: "remove.yaml", text: manifestYaml(REMOVE_HEADER, bare) },
  ];
}
