/** Packs a folder into an image archive of one layer, as `ctr image import` takes it. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const oci = "application/vnd.oci.image";

export interface Image {
  /** With its tag: `localhost/database:1`. */
  readonly name: string;
  /** Its root file system. */
  readonly folder: string;
  readonly entrypoint: readonly string[];
  /** User and group, as a Dockerfile's USER; root where not given. */
  readonly user?: string;
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

/** Writes the archive to a file. Always the same for the same folder. */
export async function writeImageArchive(image: Image, file: string): Promise<void> {
  const work = await mkdtemp(path.join(tmpdir(), "ebs-drain-image-"));
  const blobs = path.join(work, "blobs", "sha256");
  await mkdir(blobs, { recursive: true });
  const put = async (content: object): Promise<Blob> => {
    const text = JSON.stringify(content);
    const digest = createHash("sha256").update(text).digest("hex");
    await writeFile(path.join(blobs, digest), text);
    return { digest: `sha256:${digest}`, size: Buffer.byteLength(text) };
  };
  try {
    const layer = await packLayer(image.folder, blobs);
    const config = await put({
      architecture: process.arch === "x64" ? "amd64" : process.arch,
      os: "linux",
      config: {
        Env: ["PATH=/bin"],
        Entrypoint: image.entrypoint,
        ...(image.user === undefined ? {} : { User: image.user }),
      },
      rootfs: { type: "layers", diff_ids: [layer.digest] },
    });
    const manifest = await put({
      schemaVersion: 2,
      mediaType: `${oci}.manifest.v1+json`,
      config: { mediaType: `${oci}.config.v1+json`, ...config },
      layers: [{ mediaType: `${oci}.layer.v1.tar`, ...layer }],
    });
    const annotations = {
      "io.containerd.image.name": image.name,
      "org.opencontainers.image.ref.name": image.name,
    };
    const index = { mediaType: `${oci}.manifest.v1+json`, ...manifest, annotations };
    await writeFile(path.join(work, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [index] }));
    await writeFile(path.join(work, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    await run("tar", ["-C", work, "-cf", file, "."]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function packLayer(folder: string, blobs: string): Promise<Blob> {
  const unnamed = path.join(blobs, "layer");
  const same = ["--numeric-owner", "--owner=0", "--group=0", "--sort=name", "--mtime=@0"];
  await run("tar", ["-C", folder, ...same, "-cf", unnamed, "."]);
  const hash = createHash("sha256");
  await pipeline(createReadStream(unnamed), hash);
  const digest = hash.digest("hex");
  const { size } = await stat(unnamed);
  await rename(unnamed, path.join(blobs, digest));
  return { digest: `sha256:${digest}`, size };
}
