/** What hook/Dockerfile says about how the image is run: the one place where it is written. */
import { readFile } from "node:fs/promises";
import path from "node:path";

/** As in an OCI image's configuration. */
export interface RunConfiguration {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
}

const FILE = path.join(import.meta.dirname, "..", "..", "hook", "Dockerfile");

/** @throws where a line is missing */
export async function readDockerfile(): Promise<RunConfiguration> {
  const text = await readFile(FILE, "utf8");
  const values = (instruction: string): readonly string[] =>
    [...text.matchAll(new RegExp(`^${instruction} +(.+)$`, "gmu"))].map(([, value = ""]) => value.trim());
  const value = (instruction: string): string => {
    const [found] = values(instruction);
    if (found === undefined) throw new Error(`${FILE} has no ${instruction}`);
    return found;
  };
  return {
    User: value("USER"),
    Env: values("ENV"),
    Entrypoint: JSON.parse(value("ENTRYPOINT")) as readonly string[],
  };
}
