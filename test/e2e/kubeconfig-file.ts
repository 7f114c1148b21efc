/** Kubeconfig files with everything inside them, so that one may be copied or handed to another process. */
import { readFile, writeFile } from "node:fs/promises";
import { stringify } from "yaml";
import type { Certificate } from "./certificates.ts";

export async function writeKubeconfig(
  file: string,
  cluster: { readonly server: string; readonly caFile: string },
  user: { readonly name: string; readonly certificate: Certificate },
): Promise<void> {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "e2e",
        cluster: { server: cluster.server, "certificate-authority-data": await base64(cluster.caFile) },
      },
    ],
    users: [
      {
        name: user.name,
        user: {
          "client-certificate-data": await base64(user.certificate.certFile),
          "client-key-data": await base64(user.certificate.keyFile),
        },
      },
    ],
    contexts: [{ name: "e2e", context: { cluster: "e2e", user: user.name } }],
    "current-context": "e2e",
  };
  await writeFile(file, stringify(config), { mode: 0o600 });
}

async function base64(file: string): Promise<string> {
  return readFile(file, "base64");
}
