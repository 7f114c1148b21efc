/** The handler of the dispatcher, over whatever ports it is given: Lambda's (dispatch.ts) or a simulated world's. */
import type { Settings } from "../lib/drain/settings.ts";
import type { Here } from "../lib/drain/signal.ts";
import type { DispatchResult } from "../lib/engine/dispatch.ts";
import { dispatch } from "../lib/engine/dispatch.ts";
import { ForeignInstances } from "../lib/engine/foreign-instances.ts";
import type { Ec2Port } from "../lib/engine/ports.ts";
import type { SweepDeps } from "../lib/engine/sweep.ts";
import { sweep } from "../lib/engine/sweep.ts";

export interface DispatchHandlerDeps extends SweepDeps {
  readonly settings: Settings;
  readonly here: Here;
  readonly ec2: Pick<Ec2Port, "describeInstance" | "describeInstances">;
}

export type DispatchHandler = (event: unknown) => Promise<DispatchResult>;

/** The handler over these ports. It remembers foreign instances between events. */
export function createDispatchHandler(deps: DispatchHandlerDeps): DispatchHandler {
  const foreign = new ForeignInstances(deps.now);
  return (event) => dispatch(event, { ...deps, foreign, sweep: () => sweep(deps) });
}
