/** What of the deployment's configuration file concerns an operator: its policy and its groups. */
import { readFile } from "node:fs/promises";
import type { Policy } from "../drain/policy.ts";
import { DEFAULT_POLICY } from "../drain/policy.ts";
import { UsageError } from "./running.ts";

/** The policy of `--config`, or the defaults. @throws UsageError as `deploymentOf` */
export async function policyOf(file: string | undefined): Promise<Policy> {
  return (await deploymentOf(file)).policy;
}

export interface Deployment {
  readonly policy: Policy;
  readonly groups: readonly string[];
}

/** @throws UsageError where the file is not usable */
export async function deploymentOf(file: string | undefined): Promise<Deployment> {
  if (file === undefined) return { policy: DEFAULT_POLICY, groups: [] };
  const { readDeployment } = await import("../infra/deployment-settings.ts");
  const { parse } = await import("yaml");
  const text = await readFile(file, "utf8").catch((error: unknown) => unusable("cannot read", file, error));
  let raw: unknown;
  try {
    raw = parse(text);
  } catch (error) {
    unusable("no YAML and no JSON in", file, error);
  }
  const reading = readDeployment(raw);
  if (reading.kind === "invalid") {
    const lines = reading.problems.map(({ path, problem }) => `  ${path}: ${problem}`);
    throw new UsageError(`${file} is not usable:\n${lines.join("\n")}`);
  }
  const { policy, clusters } = reading.settings;
  return {
    policy: { ...DEFAULT_POLICY, ...policy },
    groups: clusters.flatMap((cluster) => cluster.groups ?? []),
  };
}

function unusable(what: string, file: string, error: unknown): never {
  throw new UsageError(`${what} ${file}: ${error instanceof Error ? error.message : String(error)}`);
}
