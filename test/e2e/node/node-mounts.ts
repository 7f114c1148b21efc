/** Which volumes are mounted on a node, and by what. */
import { readFile } from "node:fs/promises";
import path from "node:path";

export interface VolumeMounts {
  /** Volume ids whose staging path is mounted. */
  readonly staged: ReadonlySet<string>;
  /** Volume ids mounted for a pod. */
  readonly published: ReadonlySet<string>;
}

/** @param mountsFile in the format of /proc/self/mountinfo; @param volumes the folder of the volumes' content */
export async function readVolumeMounts(mountsFile: string, volumes: string): Promise<VolumeMounts> {
  const staged = new Set<string>();
  const published = new Set<string>();
  // A node without power has no mounts.
  const mounts = await readFile(mountsFile, "utf8").catch(() => "");
  for (const line of mounts.split("\n")) {
    const [, , , root = "", target = ""] = line.split(" ");
    // The root's path may lack what is mounted above it.
    if (path.basename(path.dirname(root)) !== path.basename(volumes)) continue;
    const volume = path.basename(root);
    if (target.endsWith("/globalmount")) staged.add(volume);
    else if (target.includes("/pods/")) published.add(volume);
  }
  return { staged, published };
}
