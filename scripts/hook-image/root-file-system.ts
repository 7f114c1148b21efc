/** The root file system of the hook's image: Node, the libraries it needs, the bundle, and nothing else. */
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Architecture, isThisMachine } from "./architecture.ts";
import { bundleHook } from "./bundle.ts";
import { debianLibraries } from "./debian-libraries.ts";
import { nodeProgram } from "./node-program.ts";
import { sharedLibraries } from "./shared-libraries.ts";

/** The C library's own default asks the name server first, for "localhost" too. */
const NAME_SERVICES = "hosts: files dns\n";

/** @param root is made, or replaced; libraries come from this machine, or from Debian where it is of another processor */
export async function writeRootFileSystem(root: string, architecture: Architecture): Promise<void> {
  const scratch = await mkdtemp(path.join(tmpdir(), "ebs-drain-image-"));
  try {
    const node = await nodeProgram(architecture, scratch);
    const system = isThisMachine(architecture) ? "/" : await debianLibraries(architecture, scratch);
    const libraries = await sharedLibraries(node, architecture, system);
    await rm(root, { recursive: true, force: true });
    for (const { source, target } of [...libraries, { source: node, target: "/usr/bin/node" }]) {
      await place(source, path.join(root, target));
    }
    await mkdir(path.join(root, "etc"));
    await writeFile(path.join(root, "etc", "nsswitch.conf"), NAME_SERVICES);
    await bundleHook(path.join(root, "hook"));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Readable for every user: the image runs as any. */
async function place(source: string, target: string): Promise<void> {
  await mkdir(path.dirname(target), { recursive: true });
  await copyFile(source, target);
  await chmod(target, 0o755);
}
