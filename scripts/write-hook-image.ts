/** Writes what the hook's image is made of: `npm run hook:image -- --out DIR`, then `docker build -f hook/Dockerfile DIR`. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { Command, Option } from "commander";
import { ARCHITECTURES, isThisMachine } from "./hook-image/architecture.ts";
import { readDockerfile } from "./hook-image/dockerfile.ts";
import { writeOciArchive } from "./hook-image/oci-archive.ts";
import { writeRootFileSystem } from "./hook-image/root-file-system.ts";

interface Options {
  readonly out: string;
  readonly arch?: readonly string[];
  readonly oci?: string;
}

const options = new Command("hook:image")
  .description("Write the root file system of the hook's image, one folder for each processor.")
  .requiredOption("--out <folder>", "where to write: <folder>/amd64, <folder>/arm64")
  .addOption(
    new Option("--arch <names...>", "for which processors (default: this machine's)").choices(
      ARCHITECTURES.map(({ name }) => name),
    ),
  )
  .option("--oci <image>", "also write <folder>/<arch>.tar, an OCI archive that is loaded under this name")
  .parse()
  .opts<Options>();

const wanted = ARCHITECTURES.filter((each) =>
  options.arch === undefined ? isThisMachine(each) : options.arch.includes(each.name),
);
if (wanted.length === 0) {
  process.stderr.write("This machine's processor is none of the image's: name one with --arch.\n");
  process.exitCode = 2;
}
await mkdir(options.out, { recursive: true });
for (const architecture of wanted) {
  const root = path.join(options.out, architecture.name);
  await writeRootFileSystem(root, architecture);
  process.stdout.write(`${root}\n`);
  if (options.oci === undefined) continue;
  const archive = `${root}.tar`;
  await writeOciArchive(archive, { root, architecture, run: await readDockerfile(), name: options.oci });
  process.stdout.write(`${archive}\n`);
}
