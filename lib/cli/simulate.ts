/** `ebs-drain simulate`: one node's end, replayed in the embedded world and told line by line. */
import { SECOND } from "../drain/time.ts";
import { SCENARIOS } from "../sim/scenarios.ts";
import { run } from "./embedded.ts";

export async function simulate(options: { readonly seed: number }): Promise<number> {
  const [scenario] = SCENARIOS;
  if (scenario === undefined) return 1;
  const { world, looks, begunAt } = await run(scenario, options.seed);
  const lines = [
    ...world.happenings
      .filter(({ at }) => at >= begunAt)
      .map(({ at, lane, subject, text }) => ({ at, text: `${lane.padEnd(10)} ${subject} ${text}` })),
    ...looks.map(({ observation, decision }) => ({
      at: observation.at,
      text: `${"drain".padEnd(10)} ${decision.rules.join(",")} ${decision.reason}`,
    })),
  ].sort((a, b) => a.at - b.at);
  console.log(scenario.title);
  for (const { at, text } of lines) {
    console.log(`+${((at - begunAt) / SECOND).toFixed(1).padStart(7)} s  ${text}`);
  }
  return 0;
}
