/**
 * The cache of built programs. It lies outside the repository, so a fresh clone on the same machine builds
 * nothing, and no clean-up of a work tree costs five minutes.
 */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";

/** Entries that nobody used for this long are removed: each Kubernetes version takes 150 MB. */
const unusedForMs = 30 * 24 * 3600 * 1000;

export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  if (env["EBS_DRAIN_CACHE"]) return path.resolve(env["EBS_DRAIN_CACHE"]);
  const parent = env["XDG_CACHE_HOME"] || path.join(homedir(), ".cache");
  return path.join(parent, "ebs-drain");
}

/** A hash of every file below a folder (names and contents) and of what else decides the outcome of a build. */
export async function hashOf(directory: string, others: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .toSorted();
  for (const file of files) {
    const content = await readFile(file);
    hash.update(`${path.relative(directory, file)}\0${content.length}\0`).update(content);
  }
  for (const other of others) hash.update(`${other}\0`);
  return hash.digest("hex").slice(0, 16);
}

/**
 * The folder `<cache>/<name>-<key>`, produced first where it does not exist. It is produced under another name and
 * renamed when complete: a build that was interrupted leaves nothing that looks finished, and of two builds at the
 * same time the second uses the first one's outcome.
 */
export async function cached(
  name: string,
  key: string,
  produce: (directory: string) => Promise<void>,
): Promise<string> {
  const root = cacheDirectory();
  const finished = path.join(root, `${name}-${key}`);
  if (await exists(finished)) {
    await utimes(finished, new Date(), new Date());
    return finished;
  }
  await mkdir(root, { recursive: true });
  await removeUnused(root, name);
  const unfinished = await mkdtemp(path.join(root, `unfinished-${name}-`));
  try {
    await produce(unfinished);
    await rename(unfinished, finished);
  } catch (error) {
    if (!(await exists(finished))) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return finished;
}

async function removeUnused(root: string, name: string): Promise<void> {
  for (const entry of await readdir(root)) {
    if (!entry.startsWith(`${name}-`) && !entry.startsWith(`unfinished-${name}-`)) continue;
    const directory = path.join(root, entry);
    const { mtimeMs } = await stat(directory);
    if (Date.now() - mtimeMs > unusedForMs) await rm(directory, { recursive: true, force: true });
  }
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
