/** The product's ways of installing the hook, as whoever installs it goes: by its command's files and kubectl. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type InstallHookOptions, installHook } from "../../../lib/cli/install.ts";
import { INSTALL_DEFAULTS } from "../../../lib/install/hook-install.ts";
import { KeptTerminal } from "../../cli/terminal.ts";
import type { ControlPlane } from "../control-plane.ts";
import { type DaemonSet, chartDaemonSet } from "../csi-chart.ts";
import { eventually } from "../eventually.ts";
import { admitted, isHooked } from "../installed-pods.ts";
import { type Kubectl, kubectlOf, succeeded } from "../kubectl.ts";
import { HOOK_IMAGE } from "./hook-image.ts";

type Change = Partial<Omit<InstallHookOptions, "with" | "out">>;

const defaults = {
  image: HOOK_IMAGE,
  namespace: "kube-system",
  serviceAccount: "ebs-csi-node-sa",
  driver: "ebs.csi.aws.com",
} as const;
const daemonSets = "/apis/apps/v1/namespaces/kube-system/daemonsets";

export class HookInstalls {
  readonly #controlPlane: ControlPlane;
  readonly #kubectl: Kubectl;

  private constructor(controlPlane: ControlPlane, kubectl: Kubectl) {
    this.#controlPlane = controlPlane;
    this.#kubectl = kubectl;
  }

  static async create(controlPlane: ControlPlane): Promise<HookInstalls> {
    return new HookInstalls(controlPlane, await kubectlOf(controlPlane));
  }

  /** `kubectl apply` of objects as they are. */
  async apply(objects: readonly object[]): Promise<void> {
    await this.#succeed(
      ["apply", "-f", "-"],
      JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
    );
  }

  /** Returns when the API server goes by it; pods that are there stay as they are until they are made again. */
  async byPolicy(change: Change = {}): Promise<void> {
    await this.#succeed(["apply", "-f", "-"], await policy(change));
    const { image, graceSeconds = INSTALL_DEFAULTS.graceSeconds } = { ...defaults, ...change };
    await eventually("the policy holds", async () => {
      const { spec } = await admitted(this.#controlPlane, chartDaemonSet({ graceSeconds: 1 }));
      const hasHook = spec.containers.some((container) => container.image === image);
      return hasHook && spec.terminationGracePeriodSeconds === graceSeconds;
    });
  }

  async removePolicy(): Promise<void> {
    await this.#succeed(["delete", "-f", "-"], await policy({}));
    await eventually("the policy is gone", async () => {
      return !isHooked(await admitted(this.#controlPlane, chartDaemonSet()));
    });
  }

  /** The driver's DaemonSet is rendered with the component. */
  async byKustomize(daemonSet: DaemonSet, change: Change = {}): Promise<void> {
    await withFolder(async (folder) => {
      await installHook(
        { ...defaults, ...change, with: "kustomize", out: path.join(folder, "hook") },
        new KeptTerminal(),
      );
      await writeFile(path.join(folder, "driver.json"), JSON.stringify(daemonSet));
      await writeFile(
        path.join(folder, "kustomization.yaml"),
        "resources: [driver.json]\ncomponents: [hook]\n",
      );
      await this.#succeed(["apply", "-f", "-"], await this.#succeed(["kustomize", folder]));
    });
  }

  /** The DaemonSet is an add-on's, and comes anew: what was made in another way has other owners. */
  async besideAddOn(daemonSet: DaemonSet, change: Change = {}): Promise<void> {
    const where = `${daemonSets}/${daemonSet.metadata.name}`;
    await this.#succeed(["delete", "--namespace=kube-system", "daemonset", daemonSet.metadata.name]);
    const { status, body } = await this.#controlPlane.api.request(
      "PATCH",
      `${where}?fieldManager=eks&force=true`,
      daemonSet,
      "application/apply-patch+yaml",
    );
    if (status >= 300) throw new Error(`the add-on is refused: ${status} ${JSON.stringify(body)}`);
    await withFolder(async (folder) => {
      await installHook(
        { ...defaults, ...change, with: "server-side-apply", out: folder },
        new KeptTerminal(),
      );
      const files = ["rbac.yaml", "daemonset.yaml"].flatMap((name) => ["-f", path.join(folder, name)]);
      await this.#succeed(["apply", "--server-side", "--field-manager=ebs-drain", ...files]);
    });
  }

  #succeed(args: readonly string[], input?: string): Promise<string> {
    return succeeded(this.#kubectl(args, input));
  }
}

async function policy(change: Change): Promise<string> {
  const terminal = new KeptTerminal();
  await installHook({ ...defaults, ...change, with: "admission-policy" }, terminal);
  return terminal.printed.join("\n");
}

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-install-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
