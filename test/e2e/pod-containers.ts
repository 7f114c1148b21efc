/** The end of a pod's containers: preStop hooks, SIGTERM, SIGKILL, in the real kubelet's order. */
import { Agent, request } from "undici";
import type { Container, HttpGet, Pod } from "./api-objects.ts";

/** Even a hook that took the whole grace period leaves its container this much after SIGTERM. */
const minimumAfterHookMs = 2_000;

export interface ContainerHost {
  /** The container got SIGTERM. */
  signalled(container: string): void;
  /** Waits, but not longer than the pod is wanted: a pod deleted by force ends at once. */
  wait(ms: number): Promise<void>;
}

/**
 * Ends all containers and returns when they have ended. The hooks of all of them start at once; a container without
 * one gets SIGTERM at once.
 * @param stopMs what a container needs after SIGTERM
 * @returns false where at least one had to be killed
 */
export async function stopContainers(
  host: ContainerHost,
  pod: Pod,
  graceMs: number,
  stopMs: number,
): Promise<boolean> {
  const ended = await Promise.all(
    pod.spec.containers.map((container) => stopContainer(host, container, graceMs, stopMs)),
  );
  return ended.every(Boolean);
}

async function stopContainer(
  host: ContainerHost,
  container: Container,
  graceMs: number,
  stopMs: number,
): Promise<boolean> {
  const started = performance.now();
  const hook = container.lifecycle?.preStop?.httpGet;
  if (hook !== undefined) await askHook(hook, graceMs);
  host.signalled(container.name);
  const left = Math.max(graceMs - (performance.now() - started), hook === undefined ? 0 : minimumAfterHookMs);
  await host.wait(Math.min(stopMs, left));
  return stopMs <= left;
}

/**
 * The kubelet ignores the status and waits for the body; only the grace period ends the wait. A hook that cannot be
 * reached is no reason to keep the container.
 */
async function askHook(hook: HttpGet, graceMs: number): Promise<void> {
  // A connection of its own, without time-outs: the kubelet has none either.
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  try {
    const url = `http://${hook.host ?? podAddress}:${hook.port}${hook.path ?? "/"}`;
    const response = await request(url, { dispatcher: agent, signal: AbortSignal.timeout(graceMs) });
    await response.body.text();
  } catch {
    // FailedPreStopHook: the termination goes on.
  } finally {
    await agent.destroy();
  }
}

/** The pods of all stand-in kubelets live at the test's own address: what serves a hook there is a real process. */
export const podAddress = "127.0.0.1";
