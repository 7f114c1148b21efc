/** The processors that the hook's image is made for. */

export interface Architecture {
  /** As images and Debian name it. */
  readonly name: "amd64" | "arm64";
  /** As Node and its packages name it. */
  readonly node: "x64" | "arm64";
  /** As Debian names the folder of its libraries. */
  readonly triplet: string;
}

export const ARCHITECTURES: readonly Architecture[] = [
  { name: "amd64", node: "x64", triplet: "x86_64-linux-gnu" },
  { name: "arm64", node: "arm64", triplet: "aarch64-linux-gnu" },
];

export function isThisMachine({ node }: Architecture): boolean {
  return process.platform === "linux" && process.arch === node;
}
