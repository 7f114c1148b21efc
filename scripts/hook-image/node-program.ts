/** Node's own program for a processor, at the version of the lock file. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Architecture } from "./architecture.ts";

const run = promisify(execFile);
const repository = path.join(import.meta.dirname, "..", "..");

/**
 * npm installs the package for the machine's own processor; the other one's is packed from the registry by npm, and must be what the
 * lock file says.
 * @param scratch an empty folder
 */
export async function nodeProgram({ node }: Architecture, scratch: string): Promise<string> {
  const name = `node-linux-${node}`;
  const installed = path.join(repository, "node_modules", name, "bin", "node");
  if (await isFile(installed)) return installed;
  const { version, integrity } = await lockedPackage(name);
  const { stdout } = await run(
    "npm",
    ["pack", `${name}@${version}`, "--silent", "--pack-destination", scratch],
    {
      cwd: scratch,
    },
  );
  const archive = path.join(scratch, stdout.trim());
  const found = `sha512-${createHash("sha512")
    .update(await readFile(archive))
    .digest("base64")}`;
  if (found !== integrity) throw new Error(`${name}@${version} is ${found}, the lock file says ${integrity}`);
  await run("tar", ["-xzf", archive, "-C", scratch, "package/bin/node"]);
  return path.join(scratch, "package", "bin", "node");
}

async function lockedPackage(
  name: string,
): Promise<{ readonly version: string; readonly integrity: string }> {
  const lock = JSON.parse(await readFile(path.join(repository, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
  };
  const found = lock.packages[`node_modules/${name}`];
  if (found === undefined) throw new Error(`package-lock.json does not name ${name}`);
  return found;
}

function isFile(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}
