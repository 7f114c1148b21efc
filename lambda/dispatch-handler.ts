/** The handler of the dispatcher, over whatever ports it is given: Lambda's (dispatch.ts) or a simulated world's. */
import type { Settings } from "../lib/drain/settings.ts";
import type { Here } from "../lib/drain/signal.ts";
import type { DispatchResult } from "../lib/engine/dispatch.ts";
import { dispatch } from "../lib/engine/dispatch.ts";
import { ForeignInstances } from "../lib/engine/foreign-instances.ts";
import { HookWatch } from "../lib/engine/hook-watch.ts";
import type { Ec2Port, GroupHooksPort } from "../lib/engine/ports.ts";
import type { SweepDeps, SweepSummary } from "../lib/engine/sweep.ts";
import { sweep } from "../lib/engine/sweep.ts";

export interface DispatchHandlerDeps extends SweepDeps {
  readonly settings: Settings;
  readonly here: Here;
  readonly ec2: Pick<Ec2Port, "describeInstance" | "describeInstances">;
  /** Absent where nobody is to be told of groups without the hook: in simulated worlds. */
  readonly groupHooks?: GroupHooksPort;
}

export type DispatchHandler = (event: unknown) => Promise<DispatchResult>;

/** The handler over these ports. It remembers foreign instances between events. */
export function createDispatchHandler(deps: DispatchHandlerDeps): DispatchHandler {
  const foreign = new ForeignInstances(deps.now);
  const { groupHooks } = deps;
  const watch = groupHooks === undefined ? undefined : new HookWatch({ ...deps, groupHooks });
  const sweepAndWatch = async (): Promise<SweepSummary> => {
    const summary = await sweep(deps);
    await watch?.look();
    return summary;
  };
  return (event) => dispatch(event, { ...deps, foreign, sweep: sweepAndWatch });
}
