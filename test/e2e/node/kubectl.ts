/** kubectl, as whoever installs something uses it. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { buildPrograms } from "../build.ts";
import type { ControlPlane } from "../control-plane.ts";

const run = promisify(execFile);

/** @param input its standard input; @returns its standard output; @throws with its standard error */
export async function kubectl(
  { kubeconfigPath }: ControlPlane,
  args: readonly string[],
  input = "",
): Promise<string> {
  const { kubernetes } = await buildPrograms((line) => console.error(line));
  const running = run(path.join(kubernetes, "kubectl"), ["--kubeconfig", kubeconfigPath, ...args]);
  running.child.stdin?.end(input);
  return (await running).stdout;
}

/** `kubectl apply` of objects as they are. */
export async function apply(controlPlane: ControlPlane, objects: readonly object[]): Promise<void> {
  const list = { apiVersion: "v1", kind: "List", items: objects };
  await kubectl(controlPlane, ["apply", "-f", "-"], JSON.stringify(list));
}
