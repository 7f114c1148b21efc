/**
 * Carries out a decision. Actions run in the decision's order; where one fails that others depend on, those are skipped and the next
 * look decides anew. Every act may be repeated: preconditions (uid, resourceVersion, token) make a repetition harmless.
 */
import type { Action, DoomedPod, Eviction, PodTarget } from "../drain/decision.ts";
import { buildsOnEssential, isEssential } from "../drain/dependence.ts";
import type { Failure, Observation } from "../drain/observation.ts";
import { valueOf } from "../drain/observation.ts";
import type { ActionResult } from "../drain/results.ts";
import { isOfInstance } from "../drain/situation.ts";
import { PortError } from "./errors.ts";
import type { LifecycleActionRef, Ports } from "./ports.ts";

/** Requests of one group under way at once: a node's pods must not look like an attack to the API server. */
const AT_ONCE = 10;

type Acted = Omit<ActionResult, "action">;
type EvictionAnswer = NonNullable<ActionResult["evictions"]>[string];

export async function act(
  observation: Observation,
  actions: readonly Action[],
  ports: Ports,
): Promise<readonly ActionResult[]> {
  const results: ActionResult[] = [];
  let failed = false;
  for (const action of actions) {
    const skipped = failed && buildsOnEssential(action);
    const acted: Acted = skipped ? { skipped } : await tried(() => perform(action, observation, ports));
    results.push({ action, ...acted });
    failed ||= acted.failure !== undefined && isEssential(action);
  }
  return results;
}

/** The outcomes in order; `AT_ONCE` under way at a time. */
async function inBatches<T, R>(items: readonly T[], one: (item: T) => Promise<R>): Promise<readonly R[]> {
  const outcomes: R[] = [];
  for (let index = 0; index < items.length; index += AT_ONCE) {
    outcomes.push(...(await Promise.all(items.slice(index, index + AT_ONCE).map(one))));
  }
  return outcomes;
}

async function tried(perform: () => Promise<Acted>): Promise<Acted> {
  try {
    return await perform();
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** A PortError as a value; anything else is a bug and goes on up. */
function failureOf(error: unknown): Failure {
  if (!(error instanceof PortError)) throw error;
  return { operation: error.operation, cause: error.kind, message: error.message };
}

async function perform(action: Action, observation: Observation, ports: Ports): Promise<Acted> {
  const { cluster, autoScaling, telemetry } = ports;
  switch (action.kind) {
    case "heartbeat":
      await autoScaling.heartbeat(lifecycleAction(observation));
      return {};
    case "complete":
      await autoScaling.complete(lifecycleAction(observation), action.result);
      return {};
    case "patch-node":
      return { node: await cluster.patchNode(nodeName(observation), action.patch) };
    case "evict":
      return evictInOrder(action.groups, ports);
    case "delete-pods":
      await inBatches(action.pods, (pod) => ignoringGone(() => cluster.deletePod(pod)));
      return {};
    case "hand-over":
      await cluster.patchNode(nodeName(observation), action.patch);
      await ignoringGone(() => cluster.deletePod(action.pod));
      return {};
    case "force-off":
      return forceOff(action, observation, ports);
    case "event":
      return recordEvent(action, observation, ports);
    case "metric":
      telemetry.metric(action.name, action.value, action.dimensions);
      return {};
    default:
      return action satisfies never;
  }
}

/** D2: by token where one is known. */
function lifecycleAction({ task }: Observation): LifecycleActionRef {
  if (task.kind !== "lifecycle") throw new TypeError(`${task.kind} work has no lifecycle action`);
  const { group, hook, instance, token } = task;
  return { group, hook, instance, ...(token === undefined ? {} : { token }) };
}

function nodeName({ node, memory }: Observation): string {
  return valueOf(node)?.name ?? memory.node?.name ?? "";
}

/**
 * D7: one group after the other, a group's requests together. An API that asks to slow down or cannot be reached ends the round, as
 * the action's failure; who was not asked is asked in the next look.
 */
async function evictInOrder(groups: readonly (readonly Eviction[])[], { cluster }: Ports): Promise<Acted> {
  const evictions: Record<string, EvictionAnswer> = {};
  for (const group of groups) {
    for (let index = 0; index < group.length; index += AT_ONCE) {
      const asked = group.slice(index, index + AT_ONCE);
      const errors = await Promise.all(
        asked.map((pod) => errorOf(() => cluster.evictPod(refOf(pod), pod.graceSeconds))),
      );
      asked.forEach(({ uid }, position) => {
        const error = errors[position];
        evictions[uid] = error === undefined ? { outcome: "accepted" } : outcomeOfFailure(error);
      });
      const end = errors.find((error) => error?.kind === "throttled" || error?.kind === "network");
      if (end !== undefined) return { evictions, failure: failureOf(end) };
    }
  }
  return { evictions };
}

async function errorOf(run: () => Promise<void>): Promise<PortError | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    return error;
  }
}

/** D7's list of answers. */
function outcomeOfFailure(error: PortError): EvictionAnswer {
  switch (error.kind) {
    case "not-found":
    case "conflict":
      return { outcome: "gone" };
    case "namespace-terminating":
      return { outcome: "left" };
    case "disruption-budget":
      return { outcome: "budget", ...(error.budget === undefined ? {} : { budget: error.budget }) };
    case "network":
    case "throttled":
    case "server":
    case "unauthenticated":
    case "forbidden":
    case "rejected":
    case "no-active-action":
      return { outcome: "failed" };
    default:
      return error.kind satisfies never;
  }
}

/** D14: the patch while EC2's answer is fresh, and only after it the pods. */
async function forceOff(
  action: Extract<Action, { kind: "force-off" }>,
  observation: Observation,
  { cluster, now }: Ports,
): Promise<Acted> {
  if (now() > action.notAfter) {
    return {
      failure: {
        operation: "ec2.describeInstance",
        cause: "conflict",
        message: "EC2's answer is too old for the out-of-service taint: it is asked again",
      },
    };
  }
  const node =
    action.patch === undefined ? undefined : await cluster.patchNode(nodeName(observation), action.patch);
  const message = `the instance ${observation.task.instance} of this node is gone`;
  const failures = await inBatches(action.pods, (pod) =>
    tried(() => removePod(pod, message, observation.at, cluster)),
  );
  const failure = failures.find((result) => result.failure !== undefined)?.failure;
  return { ...(node === undefined ? {} : { node }), ...(failure === undefined ? {} : { failure }) };
}

/** Failed first, as pod GC does: a finalizer would keep the object, and an unfinished pod keeps its volume. */
async function removePod(
  pod: DoomedPod,
  message: string,
  at: number,
  cluster: Ports["cluster"],
): Promise<Acted> {
  if (!pod.finished) await ignoringGone(() => cluster.failPod(refOf(pod), message, at));
  await ignoringGone(() => cluster.deletePod(refOf(pod), 0));
  return {};
}

/** C8: not found, or another uid under the name, is success of a step that wants it gone. */
async function ignoringGone(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (!(error instanceof PortError) || (error.kind !== "not-found" && error.kind !== "conflict"))
      throw error;
  }
}

function refOf({ namespace, name, uid }: PodTarget): PodTarget {
  return { namespace, name, uid };
}

async function recordEvent(
  action: Extract<Action, { kind: "event" }>,
  { node, memory, at, task }: Observation,
  { cluster }: Ports,
): Promise<Acted> {
  const target = valueOf(node) ?? memory.node;
  const providerId = valueOf(node)?.providerId;
  // Another machine has the name by now: it is not its story (I9).
  if (providerId !== undefined && !isOfInstance(providerId, task.instance)) return {};
  // Without a Node there is nothing to write the Event on; the decision log has the same words.
  if (target === undefined || target.uid === "") return {};
  await cluster.recordEvent({
    node: target.name,
    nodeUid: target.uid,
    type: action.type,
    reason: action.reason,
    message: action.message,
    at,
  });
  return {};
}
