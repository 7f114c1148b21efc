/** Writes the JSON Schema of a deployment's configuration from the checks that read it. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { deploymentSchema } from "../lib/infra/deployment-settings.ts";

const folder = path.join(import.meta.dirname, "..", "schema");

await mkdir(folder, { recursive: true });
await writeFile(
  path.join(folder, "deployment.json"),
  `${JSON.stringify(deploymentSchema(), undefined, 2)}\n`,
);
