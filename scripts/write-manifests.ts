/** Writes the manifests of roles from the permission tables, and those of the hook; with `--print` to standard output instead. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { deployFolder } from "../lib/install/deploy-folder.ts";
import type { InstallFile } from "../lib/install/hook-install.ts";
import { confinementYaml } from "../lib/kubernetes/confinement-manifests.ts";
import { flowSchemaYaml } from "../lib/kubernetes/flow-schema-manifests.ts";
import { hookRbacYaml, rbacYaml } from "../lib/kubernetes/rbac-manifests.ts";

const repository = path.join(import.meta.dirname, "..");
const files: readonly InstallFile[] = [
  { name: "manifests/rbac.yaml", text: rbacYaml() },
  { name: "manifests/hook-rbac.yaml", text: hookRbacYaml() },
  { name: "manifests/flow-schema.yaml", text: flowSchemaYaml() },
  { name: "manifests/confinement.yaml", text: confinementYaml() },
  ...deployFolder().map((file) => ({ ...file, name: `hook/deploy/${file.name}` })),
];

for (const { name, text, executable } of files) {
  if (process.argv.includes("--print")) {
    process.stdout.write(text);
    continue;
  }
  const file = path.join(repository, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text, { mode: executable ? 0o755 : 0o644 });
}
