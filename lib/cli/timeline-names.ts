/** Words for what a run's records name by id. */
import type { Run } from "./run.ts";

export interface Names {
  /** The text with ids of volumes, nodes and the instance put in words. */
  readonly inWords: (text: string) => string;
  /** The pod whose volume it is; undefined for one of no claim, such as a root volume. */
  readonly podOf: (handle: string) => string | undefined;
}

export function namesOf({ world, scene }: Run): Names {
  const pods = podsByHandle(world);
  const words = new Map<string, string>([
    [scene.instance, "the instance"],
    ...Object.entries(scene.nodes),
    ...[...pods].map(([handle, pod]) => [handle, `of ${pod}`] as const),
  ]);
  return {
    podOf: (handle) => pods.get(handle),
    inWords: (text) => {
      const replaced = [...words].reduce((before, [id, word]) => before.replaceAll(id, word), text);
      return replaced
        .replaceAll(/\bpod default\//g, "")
        .replaceAll(/\bdefault\//g, "")
        .replaceAll(/(?<!volume )\bof (\S+-\d+)(?= \((?:leaked|moved|pinned)\))/g, "volume of $1");
    },
  };
}

function podsByHandle({ cluster }: Run["world"]): ReadonlyMap<string, string> {
  const { claims, volumes } = cluster.api;
  return new Map(
    claims.list().flatMap(({ metadata, spec }) => {
      const source = volumes.get(spec.volumeName ?? "")?.spec.source;
      return source?.kind === "csi" ? [[source.handle, metadata.name.replace(/^data-/, "")] as const] : [];
    }),
  );
}
