/** The image of everything on the node that is stood in for: one program under many names. */
import { copyFile, mkdir, symlink } from "node:fs/promises";
import path from "node:path";
import type { Image } from "./image-archive.ts";

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

export function standInImage(folder: string): Image {
  return { name: STAND_IN_IMAGE, folder, entrypoint: [] };
}
