/** What the end-to-end tests need on the machine besides what `npm ci` brings. */
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The modules under `go/` name this version in their go.mod. */
const goMinimum = { major: 1, minor: 26 } as const;

export class MissingPrerequisiteError extends Error {
  override readonly name = "MissingPrerequisiteError";
}

/**
 * The versions found, for the log and for the key of the build cache.
 * @throws MissingPrerequisiteError that names everything missing at once, and how to get it
 */
export async function checkPrerequisites(): Promise<{ readonly go: string; readonly openssl: string }> {
  const [go, openssl] = await Promise.all([
    // GOTOOLCHAIN=local: the version that is installed, not one that go would download for us.
    firstLine("go", ["version"], { GOTOOLCHAIN: "local" }),
    firstLine("openssl", ["version"], {}),
  ]);
  const missing = [
    go === undefined || isTooOld(go) ? missingGo(go) : [],
    openssl ? [] : [missingOpenssl],
  ].flat();
  if (go === undefined || openssl === undefined || missing.length > 0) {
    throw new MissingPrerequisiteError(`The end-to-end tests cannot run here.\n- ${missing.join("\n- ")}`);
  }
  return { go, openssl };
}

const missingOpenssl =
  "openssl is not on the PATH; it makes the certificates of the control plane. " +
  "Install it with the system's package manager (apt-get install openssl, brew install openssl).";

/** Programs that a real node calls, each with the Debian package that brings it. */
const nodePrograms = {
  runc: "runc",
  ip: "iproute2",
  mount: "mount",
  unshare: "util-linux",
  nsenter: "util-linux",
  setpriv: "util-linux",
  flock: "util-linux",
  "dbus-daemon": "dbus",
} as const;

/**
 * What the tests with a real kubelet need besides.
 * @throws MissingPrerequisiteError that names everything missing at once, and how to get it
 */
export async function checkNodePrerequisites(): Promise<void> {
  const missing: string[] = [];
  if (process.platform !== "linux") missing.push("Linux: kubelet and containers run on nothing else.");
  else if (process.getuid?.() !== 0) missing.push("root: a node makes namespaces, mounts and cgroups.");
  const packages = new Set<string>();
  for (const [program, name] of Object.entries(nodePrograms)) {
    if (!(await isOnPath(program))) packages.add(name);
  }
  if (packages.size > 0) {
    const names = [...packages].join(" ");
    missing.push(`${names}: apt-get install ${names}, or what the system's package manager calls them.`);
  }
  if (missing.length > 0) {
    throw new MissingPrerequisiteError(`No real node can run here. Missing:\n- ${missing.join("\n- ")}`);
  }
}

async function isOnPath(program: string): Promise<boolean> {
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter)) {
    const isThere = await access(path.join(folder, program), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return true;
  }
  return false;
}

function missingGo(found: string | undefined): readonly string[] {
  const needed = `Go ${goMinimum.major}.${goMinimum.minor} or newer builds etcd and Kubernetes from source`;
  const state = found === undefined ? "go is not on the PATH" : `found only "${found}"`;
  return [`${needed}; ${state}. Get it from https://go.dev/dl/ and put its bin folder on the PATH.`];
}

function isTooOld(version: string): boolean {
  const match = /go(\d+)\.(\d+)/.exec(version);
  const major = Number(match?.[1] ?? 0);
  const minor = Number(match?.[2] ?? 0);
  return major < goMinimum.major || (major === goMinimum.major && minor < goMinimum.minor);
}

async function firstLine(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  try {
    const { stdout } = await run(program, args, { env: { ...process.env, ...env } });
    return stdout.split("\n")[0];
  } catch {
    return undefined;
  }
}
