/** Debian's C and C++ libraries for another processor than this machine's. */
import { execFile } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Architecture } from "./architecture.ts";

const run = promisify(execFile);
/** What Node's program needs. */
const PACKAGES = ["libc6", "libgcc-s1", "libstdc++6"];

/**
 * Downloads them from the package sources of this machine, with lists of their own: the machine's architectures, lists and packages
 * stay as they are. Needs apt-get and dpkg-deb; not root.
 * @param scratch an empty folder
 * @returns a folder that is laid out like a file system's root
 */
export async function debianLibraries({ name }: Architecture, scratch: string): Promise<string> {
  const folder = (...parts: readonly string[]): string => path.join(scratch, ...parts);
  const folders = { lists: folder("state/lists/partial"), archives: folder("cache/archives/partial") };
  const [downloads, root] = [folder("downloads"), folder("root")];
  for (const each of [...Object.values(folders), downloads, root]) await mkdir(each, { recursive: true });
  const settings = [
    `APT::Architecture=${name}`,
    `APT::Architectures=${name}`,
    `Dir::State=${folder("state")}`,
    "Dir::State::status=/dev/null",
    `Dir::Cache=${folder("cache")}`,
    // The folders above are not those of apt's own user.
    "APT::Sandbox::User=",
  ].flatMap((setting) => ["-o", setting]);
  const apt = (...args: readonly string[]) =>
    run("apt-get", [...settings, "-q", ...args], { cwd: downloads }).catch((error: unknown) => {
      throw new Error(`apt-get could not get Debian's libraries for ${name}`, { cause: error });
    });
  await apt("update");
  await apt("download", ...PACKAGES);
  for (const file of await readdir(downloads))
    await run("dpkg-deb", ["-x", path.join(downloads, file), root]);
  return root;
}
