/**
 * What the hook is measured against: the obvious way to write it. client-node's informer over all VolumeAttachments, from the question
 * on; the answer when none with this node's name is left. Started like the hook, with the hook's environment.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  CoreV1Api,
  KubeConfig,
  StorageV1Api,
  type V1VolumeAttachment,
  makeInformer,
} from "@kubernetes/client-node";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { ATTACHMENTS } from "../../hook/attachment-list.ts";
import { readSettings } from "../../hook/settings.ts";

const settings = readSettings(process.env);
const config = await inClusterConfig();

/** As `loadFromCluster` makes it, with the folder that the settings name. */
async function inClusterConfig(): Promise<KubeConfig> {
  const folder = settings.serviceAccount;
  const token = await readFile(path.join(folder, "token"), "utf8");
  const found = new KubeConfig();
  found.loadFromClusterAndUser(
    {
      name: "cluster",
      server: settings.apiServer,
      caFile: path.join(folder, "ca.crt"),
      skipTLSVerify: false,
    },
    { name: "user", token },
  );
  return found;
}

async function hold(): Promise<string> {
  const node = await config.makeApiClient(CoreV1Api).readNode({ name: settings.node });
  if (node.spec?.unschedulable !== true) return "the node is not going away";
  await untilDetached();
  return "no attachment of the node is left";
}

async function untilDetached(): Promise<void> {
  const storage = config.makeApiClient(StorageV1Api);
  const informer = makeInformer(config, ATTACHMENTS, () => storage.listVolumeAttachment());
  const left = new Set<string>();
  const nameOf = ({ metadata }: V1VolumeAttachment): string => metadata?.name ?? "";
  const isOurs = ({ spec }: V1VolumeAttachment): boolean => spec.nodeName === settings.node;
  let failure: unknown;
  let end = (): void => {};
  informer.on("add", (attachment) => {
    if (isOurs(attachment)) left.add(nameOf(attachment));
  });
  informer.on("delete", (attachment) => {
    left.delete(nameOf(attachment));
    if (left.size === 0) end();
  });
  informer.on("error", (error: unknown) => {
    failure = error ?? new Error("no reason given");
    end();
  });
  await informer.start();
  if (failure === undefined) log("attachments listed");
  if (failure === undefined && left.size > 0) await new Promise<void>((resolve) => (end = resolve));
  // A list that fails is told as an event only: start resolves all the same.
  if (failure !== undefined) throw new Error("the attachments cannot be read", { cause: failure });
  await informer.stop();
}

function log(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
  process.stdout.write(`${JSON.stringify({ message, ...fields })}\n`);
}

let answer: Promise<string> | undefined;
const server = createServer((request, response) => {
  if (request.url?.startsWith("/pre-stop") !== true) {
    response.end("ok\n");
    return;
  }
  answer ??= hold();
  answer.then(
    (text) => response.end(`${text}\n`),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(settings.port, settings.host, () => {
  log("listening", { port: (server.address() as AddressInfo).port });
});
