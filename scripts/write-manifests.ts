/** Writes the manifests of roles from the permission tables; with `--print` to standard output instead. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { hookRbacYaml, rbacYaml } from "../lib/kubernetes/rbac-manifests.ts";

const folder = path.join(import.meta.dirname, "..", "manifests");
const files = { "rbac.yaml": rbacYaml(), "hook-rbac.yaml": hookRbacYaml() };

await mkdir(folder, { recursive: true });
for (const [name, yaml] of Object.entries(files)) {
  if (process.argv.includes("--print")) process.stdout.write(yaml);
  else await writeFile(path.join(folder, name), yaml);
}
