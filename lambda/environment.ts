/** The Lambdas' environment: read in one place, every problem told at once. */
import { ENV } from "../lib/drain/names.ts";
import type { Settings } from "../lib/drain/settings.ts";
import { readSettings } from "../lib/drain/settings.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

export interface DrainEnvironment {
  readonly settings: Settings;
  /** Lambda sets it. */
  readonly region: string;
}

export interface DispatchEnvironment extends DrainEnvironment {
  /** Qualified ARN of the drain function: durable functions run only through a version or alias. */
  readonly drainFunction: string;
  /** The account of that function, which is ours. */
  readonly account: string;
}

/** What is wrong with the environment, each problem with its path and how to mend it. */
export class EnvironmentError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the environment is not usable:\n${problems.map((problem) => `- ${problem}`).join("\n")}`);
    this.name = "EnvironmentError";
    this.problems = problems;
  }
}

/** Throws EnvironmentError. */
export function readDrainEnvironment(variables: Variables): DrainEnvironment {
  const problems: string[] = [];
  const environment = readCommon(variables, problems);
  if (environment === undefined) throw new EnvironmentError(problems);
  return environment;
}

/** Throws EnvironmentError. */
export function readDispatchEnvironment(variables: Variables): DispatchEnvironment {
  const problems: string[] = [];
  const common = readCommon(variables, problems);
  const named = readDrainFunction(variables[ENV.drainFunction], problems);
  if (common === undefined || named === undefined) throw new EnvironmentError(problems);
  return { ...common, ...named };
}

function readCommon(variables: Variables, problems: string[]): DrainEnvironment | undefined {
  const region = variables["AWS_REGION"];
  if (region === undefined || region === "") {
    problems.push("AWS_REGION: missing. Lambda sets it; elsewhere set it to the groups' region.");
  }
  const settings = readSettingsText(variables[ENV.settings], problems);
  return settings === undefined || region === undefined || region === "" ? undefined : { settings, region };
}

function readSettingsText(text: string | undefined, problems: string[]): Settings | undefined {
  if (text === undefined || text === "") {
    problems.push(`${ENV.settings}: missing. Set it to the settings as JSON.`);
    return undefined;
  }
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    problems.push(`${ENV.settings}: not JSON: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
  const reading = readSettings(raw);
  if (reading.kind === "valid") return reading.settings;
  problems.push(...reading.problems.map(({ path, problem }) => `${settingsPath(path)}: ${problem}`));
  return undefined;
}

function settingsPath(path: string): string {
  return path === "" ? ENV.settings : `${ENV.settings} ${path}`;
}

function readDrainFunction(
  arn: string | undefined,
  problems: string[],
): Pick<DispatchEnvironment, "drainFunction" | "account"> | undefined {
  const account = /^arn:[^:]+:lambda:[^:]+:(\d{12}):function:[^:]+:[^:]+$/.exec(arn ?? "")?.[1];
  if (arn !== undefined && account !== undefined) return { drainFunction: arn, account };
  const got = arn === undefined || arn === "" ? "nothing" : `"${arn}"`;
  problems.push(
    `${ENV.drainFunction}: expected the ARN of the drain function's alias or version, got ${got}. ` +
      "It ends in :function:<name>:<alias>; durable functions cannot be invoked without the qualifier.",
  );
  return undefined;
}
