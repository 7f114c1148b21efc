/** The hook's own image, made once per test process by the product's own script. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ARCHITECTURES, isThisMachine } from "../../../scripts/hook-image/architecture.ts";
import { readDockerfile } from "../../../scripts/hook-image/dockerfile.ts";
import { writeRootFileSystem } from "../../../scripts/hook-image/root-file-system.ts";
import type { Image } from "./container-runtime.ts";

export const HOOK_IMAGE = "localhost/ebs-drain-hook:1";

export interface HookImage extends Image {
  readonly remove: () => Promise<void>;
}

export async function writeHookImage(): Promise<HookImage> {
  const architecture = ARCHITECTURES.find(isThisMachine);
  if (architecture === undefined) throw new Error(`no image of the hook is made for ${process.arch}`);
  const folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-hook-image-"));
  const root = path.join(folder, architecture.name);
  await writeRootFileSystem(root, architecture);
  const remove = () => rm(folder, { recursive: true });
  return { name: HOOK_IMAGE, root, run: await readDockerfile(), remove };
}
