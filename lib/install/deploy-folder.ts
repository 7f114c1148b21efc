/** `hook/deploy`: each way's files with all defaults, to read and to copy from. */
import type { InstallWay } from "./hook-container.ts";
import { CHART, INSTALL_DEFAULTS, type InstallFile } from "./hook-install.ts";
import { installFiles, pullCheckFile } from "./install-files.ts";

/** In the image's place: no registry takes capital letters, so forgetting it shows, and the driver starts all the same. */
export const IMAGE_PLACEHOLDER = "IMAGE";

const WAYS: readonly InstallWay[] = ["admission-policy", "kustomize", "server-side-apply"];

export function deployFolder(): readonly InstallFile[] {
  const install = { ...INSTALL_DEFAULTS, image: IMAGE_PLACEHOLDER, nodeLabels: {} };
  return [
    pullCheckFile(install),
    ...WAYS.flatMap((way) => {
      const graceSeconds = way === "server-side-apply" ? CHART.graceSeconds : install.graceSeconds;
      const daemonSets = [CHART.daemonSet];
      const files = installFiles(way, { ...install, graceSeconds, daemonSets, hostNetwork: false });
      return files.map((file) => (files.length === 1 ? file : { ...file, name: `${way}/${file.name}` }));
    }),
  ];
}
