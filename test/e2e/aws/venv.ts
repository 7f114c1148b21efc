/** The Python environment of the local AWS, made once per machine and kept in the cache beside the built programs. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { cached } from "../cache.ts";

const run = promisify(execFile);

/** Newer ones may have other insides, and local_aws replaces some of them. */
const MINISTACK = "1.5.33";

/** The path of a Python that has MiniStack. @throws with what pip said */
export async function localAwsPython(say: (line: string) => void): Promise<string> {
  const { stdout } = await run("python3", ["--version"]);
  const directory = await cached(
    "local-aws",
    `${MINISTACK}-${stdout.trim().replace(" ", "-")}`,
    async (made) => {
      say(`installing MiniStack ${MINISTACK} with pip, for the deployment tests`);
      await run("python3", ["-m", "venv", made]);
      const python = pythonOf(made);
      await run(python, ["-m", "pip", "install", "--quiet", `ministack==${MINISTACK}`]);
    },
  );
  return pythonOf(directory);
}

function pythonOf(directory: string): string {
  return path.join(directory, "bin", "python");
}
