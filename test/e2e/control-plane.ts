/**
 * A Kubernetes control plane for one test file: the real etcd, API server, controller manager and scheduler, the
 * real external attacher, and a stand-in CSI controller in front of an EC2 endpoint. There is no machine behind
 * it; `stand-in-kubelet.ts` plays those.
 */
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { KubeConfig } from "@kubernetes/client-node";
import { ApiClient } from "./api-client.ts";
import { buildPrograms } from "./build.ts";
import type { CertificateAuthority } from "./certificates.ts";
import { ChildPrograms, type ProgramStart } from "./child-programs.ts";
import { prepare, type Prepared } from "./control-plane-files.ts";
import {
  programStarts,
  serverUrl,
  type ControlPlaneOptions,
  type Program,
} from "./control-plane-programs.ts";
import { writeKubeconfig } from "./kubeconfig-file.ts";
import { stateRoot } from "./run-settings.ts";

export type { ControlPlaneOptions, Program };

/** Ready=Unknown about 8 s after a kubelet's last sign of life, instead of 50. */
export const fastNodeDeath: readonly string[] = [
  "--node-monitor-grace-period=8s",
  "--node-monitor-period=1s",
  "--node-eviction-rate=10",
];

/** It takes 5 s; more than this is a hang, however busy the machine. */
const startLimitMs = 120_000;
const pollMs = 100;
/** A program that ends more often than this has a reason to, and waiting longer will not help. */
const endsAllowed = 3;

export class ControlPlane {
  /** An administrator's kubeconfig. */
  readonly kubeconfigPath: string;
  readonly server: string;
  readonly caFile: string;
  /** Logs and state; `stop` removes it. */
  readonly directory: string;
  /** An administrator's client, for the test's own looks and changes. */
  readonly api: ApiClient;
  readonly #authority: CertificateAuthority;
  readonly #children: ChildPrograms;
  readonly #starts: Readonly<Record<Program, ProgramStart>>;
  readonly #tokens: ReadonlyMap<string, string>;
  #kubeconfigs = 0;

  constructor(prepared: Prepared) {
    const { layout, authority, adminCertificate } = prepared;
    this.kubeconfigPath = prepared.kubeconfigPath;
    this.server = serverUrl(layout.apiPort);
    this.caFile = authority.caFile;
    this.directory = layout.directory;
    this.#authority = authority;
    this.#tokens = prepared.tokens;
    this.#starts = programStarts(layout);
    this.#children = new ChildPrograms(layout.directory);
    this.api = new ApiClient({
      server: this.server,
      ca: readFileSync(authority.caFile, "utf8"),
      cert: readFileSync(adminCertificate.certFile, "utf8"),
      key: readFileSync(adminCertificate.keyFile, "utf8"),
    });
  }

  adminKubeConfig(): KubeConfig {
    const config = new KubeConfig();
    config.loadFromFile(this.kubeconfigPath);
    return config;
  }

  /** The path of a kubeconfig with a client certificate for any user and groups; RBAC decides what it may do. */
  async kubeconfigFor(user: string, groups: readonly string[] = []): Promise<string> {
    const file = path.join(this.directory, `user-${this.#kubeconfigs++}.kubeconfig`);
    const certificate = await this.#authority.client({ user, groups });
    await writeKubeconfig(file, this, { name: user, certificate });
    return file;
  }

  /** The bearer token of `admin` or of one of the `tokenUsers`. @throws for anybody else */
  tokenFor(user: string): string {
    const token = this.#tokens.get(user);
    if (token === undefined) throw new Error(`${user} is not one of this control plane's tokenUsers`);
    return token;
  }

  /** Kills the API server without a good-bye: every connection breaks. */
  stopApiServer(): Promise<void> {
    return this.kill("kube-apiserver");
  }

  /** Starts it again at the same address and returns when it is ready. */
  async startApiServer(): Promise<void> {
    this.#children.start(this.#starts["kube-apiserver"]);
    await this.#until("the API server is ready", async () => {
      const answer = await this.api.request("GET", "/readyz").catch(() => undefined);
      return answer?.status === 200;
    });
  }

  kill(program: Program): Promise<void> {
    return this.#children.kill(program);
  }

  /** Starts a program that was killed; returns at once, ready or not. */
  start(program: Program): void {
    this.#children.start(this.#starts[program]);
  }

  /** The end of a program's log, for the message of a failed test. */
  log(program: Program, lines = 50): string {
    return this.#children.log(program, lines);
  }

  async startAll(): Promise<void> {
    this.start("etcd");
    await this.startApiServer();
    for (const program of ["kube-controller-manager", "kube-scheduler"] as const) this.start(program);
    for (const program of ["ebs-csi-controller", "csi-attacher"] as const) this.start(program);
    await this.#until("the controller manager made the default service account", async () => {
      const account = "/api/v1/namespaces/default/serviceaccounts/default";
      return (await this.api.get(account)) !== undefined; // without it no pod is admitted
    });
  }

  async stop(): Promise<void> {
    await this.api.close();
    await this.#children.killAll();
    // run.ts wants the logs of a failed run; the database is of no use to a reader.
    const leftOver = stateRoot() === undefined ? this.directory : path.join(this.directory, "etcd");
    await rm(leftOver, { recursive: true, force: true });
  }

  async #until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + startLimitMs;
    while (!(await isTrue())) {
      for (const program of Object.keys(this.#starts)) {
        if (this.#children.endsByItself(program) <= endsAllowed) continue;
        throw new Error(`${program} keeps ending:\n${this.#children.log(program, 20)}`);
      }
      if (performance.now() > deadline) throw new Error(`waited ${startLimitMs / 1000} s until ${what}`);
      await delay(pollMs);
    }
  }
}

/** Builds the programs where needed and starts everything. @throws when something ends or is not ready in time */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const programs = await buildPrograms((line) => console.error(line));
  const controlPlane = new ControlPlane(await prepare(options, programs));
  try {
    await controlPlane.startAll();
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
  return controlPlane;
}
