/** `ebs-drain plan --file`: observations taken from the decision log, decided again. */
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { decide } from "../drain/decide.ts";
import type { Decision } from "../drain/decision.ts";
import type { Observation } from "../drain/observation.ts";
import type { Policy } from "../drain/policy.ts";
import { describe, isObject } from "../drain/raw-json.ts";
import { isoOf } from "../drain/time.ts";
import { observationOf } from "../telemetry/decision-line.ts";
import type { Output } from "./connection-options.ts";
import { decisionText } from "./decision-text.ts";
import { ANSWER_IS_NO, DONE, type ExitCode, UsageError } from "./running.ts";
import type { Terminal } from "./simulate.ts";
import { structured } from "./structured.ts";

interface Replayed {
  readonly observation: Observation;
  readonly decision: Decision;
  /** What the log says was decided; absent where the file has the observation alone. */
  readonly logged?: unknown;
  readonly isSame?: boolean;
}

/**
 * `-` is standard input. Takes an observation, a line of the decision log, an array of either, or lines of JSON, CloudWatch's
 * `@message` among them. Ends with 1 where another decision comes out than was logged: other code, or another policy.
 */
export async function replay(
  file: string,
  policy: Policy,
  { output }: { readonly output: Output },
  terminal: Terminal,
): Promise<ExitCode> {
  const looks = valuesIn(await textOf(file), file).flatMap((value) => replayed(value, file, policy));
  if (looks.length === 0) {
    throw new UsageError(
      `${file} holds no observation: of a drain's log take lines that have "observation" or "observationGzip", those in which something changed`,
    );
  }
  const text = await structured(looks, output);
  if (text === undefined) {
    for (const look of looks) for (const line of lookText(look, output)) terminal.print(line);
  } else {
    terminal.print(text);
  }
  return looks.some(({ isSame }) => isSame === false) ? ANSWER_IS_NO : DONE;
}

function lookText({ observation, decision, isSame }: Replayed, output: Output): readonly string[] {
  const { at, task, memory } = observation;
  return [
    `${isoOf(at)} ${task.id}, look ${memory.looks}`,
    ...decisionText(decision, output),
    ...(isSame === undefined
      ? []
      : [
          isSame
            ? "the log has the same decision"
            : "THE LOG HAS ANOTHER DECISION: made by another version, or under another policy (--config)",
        ]),
    "",
  ];
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file === "-" ? "/dev/stdin" : file, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function valuesIn(text: string, file: string): readonly unknown[] {
  const whole = parsed(text);
  if (whole !== undefined) return Array.isArray(whole) ? whole : [whole];
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, index) => {
      // What CloudWatch or kubectl put before the JSON is none of it.
      const value = parsed(line.slice(Math.max(0, line.indexOf("{"))));
      if (value === undefined) throw new UsageError(`${file}: line ${index + 1} is not JSON`);
      return value;
    });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function replayed(value: unknown, file: string, policy: Policy): readonly Replayed[] {
  if (!isObject(value)) throw new UsageError(`${file}: expected an object, got ${describe(value)}`);
  const message = value["@message"];
  if (typeof message === "string") return replayed(parsed(message), file, policy);
  const observation = isObservation(value) ? value : observationIn(value, file);
  if (observation === undefined) return [];
  const decision = decide(observation, policy);
  const logged = value["decision"];
  if (logged === undefined) return [{ observation, decision }];
  // Through JSON, as the logged one came.
  const isSame = isDeepStrictEqual(logged, JSON.parse(JSON.stringify(decision)));
  return [{ observation, decision, logged, isSame }];
}

function observationIn(line: Readonly<Record<string, unknown>>, file: string): Observation | undefined {
  let found: unknown;
  try {
    found = observationOf(line);
  } catch (error) {
    throw new UsageError(
      `${file}: a damaged observation: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (found === undefined) return undefined;
  if (isObservation(found)) return found;
  throw new UsageError(`${file}: the observation has no at, task, memory or node`);
}

function isObservation(value: unknown): value is Observation {
  return (
    isObject(value) &&
    typeof value["at"] === "number" &&
    [value["task"], value["memory"], value["node"], value["pods"], value["instance"]].every(isObject)
  );
}
