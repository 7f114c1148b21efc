/** The pod's credentials at the API server. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";

export interface Credentials {
  /** The bearer token of this moment. Rejects where it cannot be read. */
  readonly token: () => Promise<string>;
  /** Certificates of the authorities that the API server's is checked against, PEM. */
  readonly authorities: () => Promise<string>;
}

/**
 * Both files are read each time they are needed: the kubelet replaces the token about every 50 minutes, and a copy in memory would be
 * the expired one just when it matters.
 */
export function serviceAccount(folder: string): Credentials {
  return {
    // At once: the file is in memory (tmpfs), and the detour through other threads is longer than a request to the API server.
    token: async () => readFileSync(path.join(folder, "token"), "utf8").trim(),
    authorities: () => readFile(path.join(folder, "ca.crt"), "utf8"),
  };
}
