/** Writes manifests/rbac.yaml from the permission table; with `--print` to standard output instead. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { rbacYaml } from "../lib/kubernetes/rbac-manifests.ts";

const file = path.join(import.meta.dirname, "..", "manifests", "rbac.yaml");

if (process.argv.includes("--print")) {
  process.stdout.write(rbacYaml());
} else {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, rbacYaml());
}
