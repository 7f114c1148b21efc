/** The hook as a kustomize component: for who renders the driver's manifests themselves, by kustomize or from its Helm chart. */
import { stringify } from "yaml";
import { hookRbacManifests } from "../kubernetes/rbac-manifests.ts";
import { type DaemonSetInstall, daemonSetPatches } from "./daemon-set-patch.ts";
import type { InstallFile } from "./hook-install.ts";
import { manifestYaml } from "./manifest-yaml.ts";

const HEADER = `The hook of ebs-drain for the EBS CSI driver's node DaemonSet.
In a kustomization that renders the driver:
  components: [<this folder>]
With Helm: --post-renderer <this folder>/post-render.sh
A DaemonSet that is not there, not of Linux or of the other network mode makes the build fail, and nothing is half done.`;

const RBAC_HEADER = "What the hook may do; it changes nothing in the cluster but that it adds Events.";

/** `test` fails the build where the pods are not what the patch after it is for. */
function guards({ hostNetwork }: DaemonSetInstall): string {
  return stringify([
    { op: "test", path: "/spec/template/spec/nodeSelector/kubernetes.io~1os", value: "linux" },
    { op: "test", path: "/spec/template/spec/hostNetwork", value: hostNetwork },
  ]);
}

export function kustomizeComponent(install: DaemonSetInstall): readonly InstallFile[] {
  const { namespace, serviceAccount } = install;
  const component = {
    apiVersion: "kustomize.config.k8s.io/v1alpha1",
    kind: "Component",
    resources: ["rbac.yaml"],
    patches: daemonSetPatches(install, "kustomize", "driver-and-registrar").flatMap((patch) => [
      { target: { kind: "DaemonSet", name: patch.metadata.name, namespace }, patch: guards(install) },
      // Without a target: then kustomize insists that there is what it names.
      { patch: stringify(patch, { lineWidth: 0 }) },
    ]),
  };
  return [
    { name: "kustomization.yaml", text: manifestYaml(HEADER, [component]) },
    {
      name: "rbac.yaml",
      text: manifestYaml(RBAC_HEADER, hookRbacManifests({ namespace, serviceAccount })),
    },
    { name: "post-render.sh", text: POST_RENDER, executable: true },
  ];
}

const POST_RENDER = `#!/bin/sh
# Reads the manifests that Helm rendered, adds the hook, and prints them: helm upgrade … --post-renderer <this folder>/post-render.sh
set -eu
component=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/rendered.yaml"
mkdir "$work/hook"
cp "$component/kustomization.yaml" "$component/rbac.yaml" "$work/hook"
printf 'resources: [rendered.yaml]\\ncomponents: [hook]\\n' > "$work/kustomization.yaml"
\${KUBECTL:-kubectl} kustomize "$work"
`;
