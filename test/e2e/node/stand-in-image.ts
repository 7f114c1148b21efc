/** The image of everything on the node that is stood in for: one program under many names. */
import { copyFile, mkdir, symlink } from "node:fs/promises";
import path from "node:path";
import { type Image, PAUSE_IMAGE } from "./container-runtime.ts";

export const STAND_IN_IMAGE = "localhost/stand-ins:1";
const names = [
  "aws-ebs-csi-driver",
  "csi-node-driver-registrar",
  "livenessprobe",
  "database",
  "pause",
  "relay",
];

/** @param csi the folder of the built programs; @returns the folder of the image's root file system */
export async function writeStandIns(folder: string, csi: string): Promise<string> {
  const bin = path.join(folder, "bin");
  await mkdir(bin, { recursive: true });
  await copyFile(path.join(csi, "node-stand-ins"), path.join(bin, "node-stand-ins"));
  for (const name of names) await symlink("node-stand-ins", path.join(bin, name));
  return folder;
}

export function standInImages(root: string): readonly Image[] {
  const image = (name: string, entrypoint: readonly string[]): Image => ({
    name,
    root,
    run: { User: "0:0", Env: ["PATH=/bin"], Entrypoint: entrypoint },
  });
  return [image(PAUSE_IMAGE, ["/bin/pause"]), image(STAND_IN_IMAGE, [])];
}
