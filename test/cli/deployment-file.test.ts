import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { deploymentOf } from "../../lib/cli/deployment-file.ts";
import { UsageError } from "../../lib/cli/running.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";

async function read(content: string) {
  const folder = await mkdtemp(path.join(tmpdir(), "deployment-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, "deployment.yaml");
  await writeFile(file, content);
  return deploymentOf(file);
}

it("reads the policy and the groups of the example, and the defaults without a file", async () => {
  const example = path.join(import.meta.dirname, "../../examples/deployment.yaml");
  expect(await deploymentOf(example)).toEqual({ policy: DEFAULT_POLICY, groups: ["workers-a", "workers-b"] });
  expect(await deploymentOf(undefined)).toEqual({ policy: DEFAULT_POLICY, groups: [] });
});

it("completes a policy that says only what differs", async () => {
  const { policy } = await read(
    "clusters: [{ name: blue, groups: [a] }]\nmonitoring: off\npolicy: { maxDuration: 3600 }\n",
  );
  expect(policy).toEqual({ ...DEFAULT_POLICY, maxDuration: 3_600 });
});

it.each([
  ["no YAML", "a: [", "no YAML and no JSON in"],
  ["not a deployment", "clusters: 3", "clusters: "],
])("refuses %s and says where", async (_what, content, words) => {
  const refusal = await read(content).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(UsageError);
  expect(String(refusal)).toContain(words);
});

it("refuses a file that is not there", async () => {
  await expect(deploymentOf("/nowhere")).rejects.toThrow("cannot read /nowhere");
});
