/**
 * npm run bench -- scale [--nodes 3,100,1000] [--attachments 100] [--instances 10,100,500]
 *
 * Counts the requests of drains in large clusters, in the embedded world and its virtual time, and prints Markdown: one drain in
 * clusters of so many nodes with so many attachments each, then so many instances that go in one moment. Minutes for the largest.
 */
import { parseArgs } from "node:util";
import { operationsOf, withoutSweep } from "./scale-figures.ts";
import { instancesTable, sizesTable } from "./scale-table.ts";
import type { ScaleRun } from "./scale-world.ts";
import { runAtScale } from "./scale-world.ts";
import { wholeNumber } from "./usage.ts";

/** @throws UsageError, or the TypeError of node:util's parseArgs */
export async function benchScale(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "3,100,1000" },
      attachments: { type: "string", default: "100" },
      instances: { type: "string", default: "10,100,500" },
    },
  });
  const sizes = wholeNumbers("--nodes", values.nodes);
  const instances = wholeNumbers("--instances", values.instances);
  await benchSizes(sizes, wholeNumber("--attachments", values.attachments, 1));
  await benchInstances(instances);
}

function wholeNumbers(flag: string, text: string): readonly number[] {
  return text.split(",").map((each) => wholeNumber(flag, each, 1));
}

function say(line: string): void {
  console.error(`bench: ${line}`);
}

/** With the one that goes the cluster has as many as asked for. */
async function benchSizes(sizes: readonly number[], attachments: number): Promise<void> {
  const runs: ScaleRun[] = [];
  for (const nodes of sizes) {
    say(`one drain in a cluster of ${nodes} nodes with ${attachments} attachments each`);
    const others = Math.max(1, nodes - 1);
    runs.push(await runAtScale({ nodes: others, attachments: nodes * attachments, drained: 1, podsEach: 3 }));
  }
  const largest = runs.at(-1);
  if (largest === undefined) return;
  console.log(`${sizesTable(runs)}\n`);
  const operations = operationsOf(withoutSweep(largest.requests)).filter(([name]) =>
    /^(kubernetes|ec2|autoScaling)\./.test(name),
  );
  console.log(`In the last one: ${operations.map(([name, count]) => `\`${name}\` ${count}`).join(", ")}.\n`);
}

/** Half as many nodes as instances stay, to take the pods. */
async function benchInstances(instances: readonly number[]): Promise<void> {
  const runs: (ScaleRun & { readonly drained: number })[] = [];
  for (const drained of instances) {
    say(`${drained} instances at once`);
    const nodes = Math.ceil(drained / 2);
    runs.push({ ...(await runAtScale({ nodes, attachments: drained, drained, podsEach: 1 })), drained });
  }
  if (runs.length > 0) console.log(instancesTable(runs));
}
