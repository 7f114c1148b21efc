/**
 * The hook: a container of the CSI node pod that answers the pod's preStop hooks once the node's volumes are gone. Started with
 * `node hook/server.ts`; settings come from the environment (README).
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { PRODUCT } from "../lib/drain/names.ts";
import { attachmentName } from "../lib/engine/attachment-name.ts";
import { createEndpoints } from "./endpoints.ts";
import { Hook } from "./hook.ts";
import type { HandedAction } from "./lifecycle-completion.ts";
import { type Log, createLog } from "./log-line.ts";
import { errorFields } from "../lib/engine/errors.ts";
import { findRegion } from "./region.ts";
import { type HookSettings, SettingsError, readSettings } from "./settings.ts";

/** Milliseconds after SIGTERM in which another container's hook may still arrive. */
const LAST_CALL = 500;

/** Loaded when the first action is handed over: it takes tens of milliseconds and megabytes that most holds never need. */
async function loadAutoScaling(): Promise<(action: HandedAction) => Promise<void>> {
  const [{ AutoScalingClient }, { createAutoScalingPort }, region] = await Promise.all([
    import("@aws-sdk/client-auto-scaling"),
    import("../lib/aws/auto-scaling.ts"),
    findRegion(process.env),
  ]);
  const client = new AutoScalingClient({
    region,
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 500, requestTimeout: 1_500, throwOnRequestTimeout: true },
  });
  // Pod Identity or the instance's role; fetched now, while there is time.
  await client.config.credentials();
  const port = createAutoScalingPort(client);
  // The token names the action; an instance id is for who has none.
  return (action) => port.complete({ ...action, instance: "" }, "CONTINUE");
}

function main(settings: HookSettings): void {
  // A log that nobody reads any more is no reason to end (H13).
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const log = createLog((line) => process.stdout.write(line), {
    component: `${PRODUCT}-hook`,
    node: settings.node,
    pod: settings.pod.name,
  });
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (error: unknown) => log("error", "unexpected", { event, ...errorFields(error) }));
  }
  const hook = new Hook({ settings, log, loadAutoScaling, attachmentName });
  const server = createEndpoints({
    preStop: (container) => hook.preStop(container),
    ready: () => hook.ready(),
    metrics: () => hook.metrics(),
    log,
  });
  listen(server, settings, log);
  void hook.rehearse();
  // On, not once: a second signal must not end a hold by the signal's default.
  let isEnding = false;
  process.on("SIGTERM", () => {
    if (!isEnding) endAfterHolds(hook, () => log("info", "ended"));
    isEnding = true;
  });
}

/** Where the machine has no IPv6 at all, every address is every IPv4 address. */
function listen(server: Server, { host, port }: HookSettings, log: Log): void {
  server.on("error", (error: NodeJS.ErrnoException) => {
    if (server.listening) return log("error", "server error", errorFields(error));
    if (host === "::" && (error.code === "EAFNOSUPPORT" || error.code === "EADDRNOTAVAIL")) {
      server.listen({ host: "0.0.0.0", port });
      return undefined;
    }
    log("error", "cannot listen", errorFields(error));
    // Without its port it is of no use, and so the kubelet says.
    return process.exit(1);
  });
  server.on("listening", () => {
    const { address, port } = server.address() as AddressInfo;
    log("info", "listening", { address, port });
  });
  server.listen({ host, port });
}

/** A hold that is under way goes on (C32): whoever stopped this container too early must not end the others' wait. */
function endAfterHolds(hook: Hook, onEnd: () => void): void {
  const look = setInterval(() => {
    if (hook.isWaiting) return;
    clearInterval(look);
    onEnd();
    process.exit(0);
  }, LAST_CALL);
}

try {
  main(readSettings(process.env));
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  for (const problem of error.problems) process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
