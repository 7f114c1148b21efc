/** A root file system as an OCI archive of one layer, for registries and container runtimes, without a container engine. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import type { Architecture } from "./architecture.ts";
import type { RunConfiguration } from "./dockerfile.ts";

const run = promisify(execFile);

export interface OciImage {
  readonly root: string;
  readonly architecture: Architecture;
  readonly run: RunConfiguration;
  /** Repository and tag under which whoever loads the archive finds it. */
  readonly name: string;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const TYPE = "application/vnd.oci.image";

/** The same files make the same archive: owners, times and order are not the machine's. */
export async function writeOciArchive(file: string, image: OciImage): Promise<void> {
  const layout = await mkdtemp(path.join(tmpdir(), "ebs-drain-oci-"));
  try {
    await mkdir(path.join(layout, "blobs", "sha256"), { recursive: true });
    const layer = await addLayer(layout, image.root);
    const config = await addJson(layout, `${TYPE}.config.v1+json`, {
      architecture: image.architecture.name,
      os: "linux",
      config: image.run,
      rootfs: { type: "layers", diff_ids: [layer.digest] },
    });
    const mediaType = `${TYPE}.manifest.v1+json`;
    const manifest = await addJson(layout, mediaType, {
      schemaVersion: 2,
      mediaType,
      config,
      layers: [layer],
    });
    const annotations = {
      "io.containerd.image.name": image.name,
      "org.opencontainers.image.ref.name": image.name,
    };
    const platform = { architecture: image.architecture.name, os: "linux" };
    const index = { schemaVersion: 2, manifests: [{ ...manifest, platform, annotations }] };
    await writeFile(path.join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    await writeFile(path.join(layout, "index.json"), JSON.stringify(index));
    await tar(layout, file);
  } finally {
    await rm(layout, { recursive: true, force: true });
  }
}

async function addLayer(layout: string, root: string): Promise<Descriptor> {
  const file = path.join(layout, "layer");
  await tar(root, file);
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  const digest = hash.digest("hex");
  const { size } = await stat(file);
  await rename(file, path.join(layout, "blobs", "sha256", digest));
  return { mediaType: `${TYPE}.layer.v1.tar`, digest: `sha256:${digest}`, size };
}

async function addJson(layout: string, mediaType: string, value: unknown): Promise<Descriptor> {
  const bytes = Buffer.from(JSON.stringify(value));
  const digest = createHash("sha256").update(bytes).digest("hex");
  await writeFile(path.join(layout, "blobs", "sha256", digest), bytes);
  return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
}

async function tar(folder: string, file: string): Promise<void> {
  const plain = ["--numeric-owner", "--owner=0", "--group=0", "--sort=name", "--mtime=@0"];
  await run("tar", ["-C", folder, ...plain, "-cf", file, "."]);
}
