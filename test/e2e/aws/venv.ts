/** The Python environment of the local AWS, made once per machine and kept in the cache beside the built programs. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { cached } from "../cache.ts";
import { MissingPrerequisiteError } from "../prerequisites.ts";

const run = promisify(execFile);

/** Another version may have other insides, and local_aws replaces some of them. */
const MINISTACK = "1.5.33";
/** What MiniStack asks for. */
const PYTHON = { major: 3, minor: 10 } as const;

/** The path of a Python that has MiniStack. @throws MissingPrerequisiteError, or an Error with what pip said */
export async function localAwsPython(say: (line: string) => void): Promise<string> {
  const version = await pythonVersion();
  const directory = await cached("local-aws", `${MINISTACK}-python-${version}`, async (made) => {
    say(`installing MiniStack ${MINISTACK} with pip, for the deployment tests`);
    await run("python3", ["-m", "venv", made]);
    await run(pythonOf(made), ["-m", "pip", "install", "--quiet", `ministack==${MINISTACK}`]);
  });
  return pythonOf(directory);
}

/** Of the python3 on the PATH, which has to be able to make environments: Debian packs that separately. */
async function pythonVersion(): Promise<string> {
  const script = "import ensurepip, sys, venv; print('.'.join(map(str, sys.version_info[:3])))";
  const { stdout } = await run("python3", ["-c", script]).catch(() => ({ stdout: "" }));
  const version = stdout.trim();
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major === PYTHON.major && minor >= PYTHON.minor) return version;
  throw new MissingPrerequisiteError(
    `The deployment tests need python3 ${PYTHON.major}.${PYTHON.minor} or newer with venv for the local AWS; ` +
      `${version === "" ? "there is none on the PATH" : `found ${version}`}. apt-get install python3-venv brings it.`,
  );
}

function pythonOf(directory: string): string {
  return path.join(directory, "bin", "python");
}
