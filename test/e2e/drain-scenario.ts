/** A scenario whose functions run in the test's own process, so that each look can be asked for. */
import type { TestContext } from "vitest";
import type { DrainResult } from "../../lib/engine/drain-loop.ts";
import type { LookRecord } from "../../lib/engine/ports.ts";
import type { Stage } from "./drain-stage.ts";
import { eventually } from "./eventually.ts";
import { LIMIT_SECONDS, MachineScenario } from "./machine-scenario.ts";
import type { Machine } from "./machines.ts";

export class Scenario extends MachineScenario {
  readonly stage: Stage;

  private constructor(stage: Stage, name: string) {
    super(stage, name);
    this.stage = stage;
  }

  /** An empty scenario. Where its test fails, the decision log of its machines is printed. */
  static async create(stage: Stage, name: string, test: TestContext): Promise<Scenario> {
    const scenario = new Scenario(stage, name);
    await scenario.prepare();
    test.onTestFailed(() => console.log(scenario.story()));
    return scenario;
  }

  /** How the machine's executions ended, the oldest first, once none of them runs: `gone: freed`. */
  ended({ instance }: Machine): Promise<readonly string[]> {
    return eventually(
      `all work for ${instance} has ended`,
      () => {
        const executions = this.stage.functions.executionsFor(instance);
        if (executions.length === 0 || executions.some(({ status }) => status === "RUNNING"))
          return undefined;
        return executions.map(({ name, result, error }) => {
          const kind = name.slice(0, name.indexOf("-"));
          return `${kind}: ${(result as DrainResult | undefined)?.outcome ?? error}`;
        });
      },
      LIMIT_SECONDS,
    );
  }

  /** A look at the machine that fits, once there is one. */
  seen({ instance }: Pick<Machine, "instance">, what: string, isMeant: (look: LookRecord) => boolean) {
    const { functions } = this.stage;
    return eventually(what, () => functions.looksAt(instance).find(isMeant), LIMIT_SECONDS);
  }

  /** The decision log of the scenario's time, for whoever reads a failure. */
  story(): string {
    const { functions, region } = this.stage;
    const looks = functions.looks.map(({ observation: { at, task }, decision, failures }) => ({
      at,
      text: `${task.id} ${decision.phase} ${decision.rules.join()}: ${decision.reason} ${failures.join("; ")}`,
    }));
    const others = region.happenings.map(({ at, subject, text }) => ({ at, text: `${subject} ${text}` }));
    return [...looks, ...others]
      .filter(({ at }) => at >= this.startedAt)
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, text }) => `${new Date(at).toISOString().slice(11, 23)} ${text}`)
      .join("\n");
  }
}
