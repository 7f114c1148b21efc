/** `ebs-drain install`: what the options mean, and what is printed. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { OWN_VARIABLES, type InstallWay } from "../install/hook-container.ts";
import { CHART, INSTALL_DEFAULTS, type InstallFile } from "../install/hook-install.ts";
import { installFiles, pullCheckFile } from "../install/install-files.ts";
import { hookRbacYaml, rbacYaml } from "../kubernetes/rbac-manifests.ts";
import { DONE, type ExitCode, UsageError } from "./running.ts";
import type { Terminal } from "./simulate.ts";

type Pairs = Readonly<Record<string, string>>;

interface PlaceOptions {
  readonly namespace: string;
  readonly serviceAccount: string;
}

export interface InstallHookOptions extends PlaceOptions {
  readonly image: string;
  readonly with: InstallWay;
  readonly driver: string;
  readonly graceSeconds?: number;
  readonly env?: Pairs;
  readonly unprivileged?: boolean;
  readonly nodeSelector?: Pairs;
  readonly daemonset?: readonly string[];
  readonly hostNetwork?: boolean;
  readonly out?: string;
}

export interface PullCheckOptions extends PlaceOptions {
  readonly image: string;
  readonly nodeSelector?: Pairs;
}

export interface InstallRbacOptions extends PlaceOptions {
  readonly for: "drain" | "hook";
}

export async function installHook(options: InstallHookOptions, terminal: Terminal): Promise<ExitCode> {
  const problems = [...imageProblems(options.image), ...envProblems(options), ...wayProblems(options)];
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  const { image, namespace, serviceAccount, driver } = options;
  const files = installFiles(options.with, {
    image,
    namespace,
    serviceAccount,
    driver,
    graceSeconds: options.graceSeconds ?? defaultGrace(options.with),
    env: options.env ?? {},
    unprivileged: options.unprivileged ?? false,
    nodeLabels: options.nodeSelector ?? {},
    daemonSets: options.daemonset ?? [CHART.daemonSet],
    hostNetwork: options.hostNetwork ?? false,
  });
  if (options.out === undefined) return print(files, terminal);
  await mkdir(options.out, { recursive: true });
  for (const { name, text, executable } of files) {
    const file = path.join(options.out, name);
    await writeFile(file, text, { mode: executable ? 0o755 : 0o644 });
    terminal.print(file);
  }
  return DONE;
}

export async function installPullCheck(options: PullCheckOptions, terminal: Terminal): Promise<ExitCode> {
  const problems = imageProblems(options.image);
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  const { image, namespace, serviceAccount, nodeSelector: nodeLabels = {} } = options;
  return print(
    [pullCheckFile({ ...INSTALL_DEFAULTS, image, namespace, serviceAccount, nodeLabels })],
    terminal,
  );
}

export async function installRbac(options: InstallRbacOptions, terminal: Terminal): Promise<ExitCode> {
  const { namespace, serviceAccount } = options;
  terminal.print(trimmed(options.for === "hook" ? hookRbacYaml({ namespace, serviceAccount }) : rbacYaml()));
  return DONE;
}

/** Beside an add-on the grace period stays the add-on's, and the hook is only told of it. */
function defaultGrace(way: InstallWay): number {
  return way === "server-side-apply" ? CHART.graceSeconds : INSTALL_DEFAULTS.graceSeconds;
}

function print(files: readonly InstallFile[], terminal: Terminal): ExitCode {
  for (const { text } of files) terminal.print(trimmed(text));
  return DONE;
}

/** A terminal prints lines. */
function trimmed(text: string): string {
  return text.replace(/\n$/u, "");
}

/** An image without a version is another one on each node, and is asked for at the registry at each start of a pod. */
function imageProblems(image: string): readonly string[] {
  if (!/^[a-z0-9][a-zA-Z0-9._:/@-]*$/u.test(image)) return [`--image: ${JSON.stringify(image)} is no image.`];
  const [, tag] = /:([^/:]+)$/u.exec(image) ?? [];
  if (image.includes("@sha256:") || (tag !== undefined && tag !== "latest")) return [];
  return [`--image: name a version, as ${image.replace(/:latest$/u, "")}:1.0.0 or …@sha256:…`];
}

function envProblems({ env = {} }: InstallHookOptions): readonly string[] {
  return Object.keys(env).flatMap((name) => {
    if (OWN_VARIABLES.includes(name)) return [`--env ${name}: the install sets it itself.`];
    return /^[A-Za-z_][A-Za-z0-9_]*$/u.test(name) ? [] : [`--env ${name}: no name of a variable.`];
  });
}

/** An option that a way does not know is refused, not ignored. */
function wayProblems(options: InstallHookOptions): readonly string[] {
  const { daemonset, hostNetwork, nodeSelector, out } = options;
  if (options.with === "admission-policy") {
    return [
      ...(daemonset === undefined
        ? []
        : ["--daemonset: the policy finds the driver's pods by what they run."]),
      ...(hostNetwork ? ["--host-network: the policy sees it in each pod."] : []),
    ];
  }
  return [
    ...(nodeSelector === undefined
      ? []
      : [
          `--node-selector: ${options.with} changes a DaemonSet, not single pods. For a start on a few nodes give them a DaemonSet of their own (the chart's additionalDaemonSets) and name it with --daemonset.`,
        ]),
    ...(out === undefined ? [`--out: ${options.with} is several files; give a folder.`] : []),
  ];
}
