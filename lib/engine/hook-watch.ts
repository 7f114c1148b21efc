/** Whether each configured group still has our lifecycle hook: without it its instances go before anybody is asked. */
import type { Settings } from "../drain/settings.ts";
import type { Instant } from "../drain/time.ts";
import { MINUTE } from "../drain/time.ts";

import { errorFields } from "./errors.ts";
import type { GroupHooksPort, GroupHookView, TelemetryPort } from "./ports.ts";

export interface HookWatchDeps {
  readonly settings: Settings;
  readonly groupHooks: GroupHooksPort;
  readonly telemetry: Pick<TelemetryPort, "log" | "metric">;
  readonly now: () => Instant;
}

/** A hook goes by somebody's hand, which is rare, and each group costs a request of an API that is throttled per account. */
const INTERVAL = 10 * MINUTE;

const TRANSITION = "autoscaling:EC2_INSTANCE_TERMINATING";

export class HookWatch {
  readonly #deps: HookWatchDeps;
  #lastAt = -Infinity;

  constructor(deps: HookWatchDeps) {
    this.#deps = deps;
  }

  /** Looks at every group, at most every ten minutes. Never rejects: what could not be read is told and read the next time. */
  async look(): Promise<void> {
    const { settings, now } = this.#deps;
    if (now() - this.#lastAt < INTERVAL) return;
    this.#lastAt = now();
    for (const { name, groups } of settings.clusters) {
      for (const group of groups) await this.#lookAt(name, group);
    }
  }

  async #lookAt(cluster: string, group: string): Promise<void> {
    const { settings, groupHooks, telemetry } = this.#deps;
    const { hookName, heartbeatTimeout } = settings.policy;
    try {
      const reason = faultOf(await groupHooks.describeHook(group, hookName), heartbeatTimeout);
      if (reason === undefined) return;
      telemetry.metric("GroupsWithoutHook", 1, { cluster, group });
      telemetry.log({ message: "group without the hook", cluster, group, hook: hookName, reason });
    } catch (error) {
      telemetry.log({ message: "hooks not read", cluster, group, ...errorFields(error) });
    }
  }
}

/** What keeps the hook from holding an instance as the policy says. */
function faultOf(hook: GroupHookView | undefined, heartbeatTimeout: number): string | undefined {
  if (hook === undefined) return "the group has no hook of that name, or there is no such group";
  if (hook.transition !== TRANSITION) return `the hook is for ${hook.transition}`;
  // Beats come at half of the policy's time-out.
  if (hook.heartbeatTimeout < heartbeatTimeout) {
    return `the hook's heartbeat timeout is ${hook.heartbeatTimeout} s, the policy's ${heartbeatTimeout} s`;
  }
  return undefined;
}
