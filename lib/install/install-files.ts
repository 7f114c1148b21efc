/** The files of each way to install the hook. */
import {
  type AdmissionPolicyInstall,
  admissionPolicyHeader,
  admissionPolicyManifests,
} from "./admission-policy.ts";
import type { DaemonSetInstall } from "./daemon-set-patch.ts";
import type { InstallWay } from "./hook-container.ts";
import type { InstallFile } from "./hook-install.ts";
import { kustomizeComponent } from "./kustomize-component.ts";
import { manifestYaml } from "./manifest-yaml.ts";
import { type PullCheckInstall, pullCheckHeader, pullCheckManifests } from "./pull-check.ts";
import { serverSideApply } from "./server-side-apply.ts";

export type AnyInstall = AdmissionPolicyInstall & DaemonSetInstall;

export function installFiles(way: InstallWay, install: AnyInstall): readonly InstallFile[] {
  switch (way) {
    case "admission-policy":
      return [
        {
          name: "admission-policy.yaml",
          text: manifestYaml(admissionPolicyHeader(install), admissionPolicyManifests(install)),
        },
      ];
    case "kustomize":
      return kustomizeComponent(install);
    case "server-side-apply":
      return serverSideApply(install);
    default:
      return way satisfies never;
  }
}

export function pullCheckFile(install: PullCheckInstall): InstallFile {
  return {
    name: "pull-check.yaml",
    text: manifestYaml(pullCheckHeader(install), pullCheckManifests(install)),
  };
}
