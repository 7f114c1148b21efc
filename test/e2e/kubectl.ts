/** The real kubectl, as an operator runs it. */
import { execFile } from "node:child_process";
import path from "node:path";
import { buildPrograms } from "./build.ts";
import type { ControlPlane } from "./control-plane.ts";

export interface KubectlAnswer {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

export type Kubectl = (args: readonly string[], input?: string) => Promise<KubectlAnswer>;

export async function kubectlProgram(): Promise<string> {
  const { kubernetes } = await buildPrograms((line) => console.error(line));
  return path.join(kubernetes, "kubectl");
}

/** As administrator of this cluster. */
export async function kubectlOf({ kubeconfigPath }: ControlPlane): Promise<Kubectl> {
  const program = await kubectlProgram();
  return (args, input = "") => run(program, ["--kubeconfig", kubeconfigPath, ...args], input);
}

/** @throws with what it said, where it fails */
export async function succeeded(answer: Promise<KubectlAnswer>): Promise<string> {
  const { code, out, errors } = await answer;
  if (code !== 0) throw new Error(`exit code ${code}: ${errors}${out}`);
  return out;
}

/** Any program that reads from standard input and prints. */
export function run(
  program: string,
  args: readonly string[],
  input = "",
  env: Readonly<Record<string, string>> = {},
): Promise<KubectlAnswer> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024 };
    const child = execFile(program, args, options, (error, out, errors) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, errors });
    });
    child.stdin?.on("error", () => {}); // it may have ended without reading
    child.stdin?.end(input);
  });
}
