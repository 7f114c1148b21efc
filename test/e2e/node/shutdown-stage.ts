/**
 * What the scenarios of graceful node shutdowns share: a control plane, a region, and a spare machine whose kubelet is stood in
 * for. The machines that shut down are real nodes, one after the other. No drain runs: what the hook does, it does alone.
 */
import { attachmentOf } from "../cluster-looks.ts";
import { type ControlPlane, startControlPlane } from "../control-plane.ts";
import { createAll } from "../create-all.ts";
import { KubeletFleet } from "../kubelet-fleet.ts";
import { type Machine, Machines } from "../machines.ts";
import { Region } from "../region.ts";
import { ebsStorage } from "../volume-objects.ts";
import { type HookImage, writeHookImage } from "./hook-image.ts";
import { HookInstalls } from "./hook-installs.ts";
import { chartAccount } from "./node-stage.ts";
import { ShutdownMachine } from "./shutdown-machine.ts";

/** As slow as EC2 often is. */
const ec2Delays = { attach: [2_000, 2_000], detach: [2_000, 2_000] } as const;

export interface ShutdownBudget {
  /** `shutdownGracePeriod`, in seconds. */
  readonly all: number;
  /** `shutdownGracePeriodCriticalPods`, in seconds. */
  readonly critical: number;
}

export class ShutdownStage {
  readonly controlPlane: ControlPlane;
  readonly region: Region;
  readonly fleet: KubeletFleet;
  readonly spare: Machine;
  readonly install: HookInstalls;
  readonly #booted: ShutdownMachine[] = [];
  #image: HookImage | undefined;

  private constructor(parts: {
    readonly controlPlane: ControlPlane;
    readonly region: Region;
    readonly fleet: KubeletFleet;
    readonly spare: Machine;
    readonly install: HookInstalls;
  }) {
    this.controlPlane = parts.controlPlane;
    this.region = parts.region;
    this.fleet = parts.fleet;
    this.spare = parts.spare;
    this.install = parts.install;
  }

  /** @param forceSeconds the attach/detach controller's wait before it detaches by force, instead of 360 */
  static async start(forceSeconds: number): Promise<ShutdownStage> {
    const region = await Region.start(ec2Delays);
    const options = { ec2Url: region.url, maxWaitForUnmountSeconds: forceSeconds };
    const controlPlane = await startControlPlane(options);
    const { api } = controlPlane;
    await createAll(api, ebsStorage());
    const fleet = await KubeletFleet.create(api);
    const spare = await new Machines(region, fleet).launch({ scenario: "spare" });
    const install = await HookInstalls.create(controlPlane);
    await install.apply(chartAccount);
    return new ShutdownStage({ controlPlane, region, fleet, spare, install });
  }

  /** By the admission policy, for machines that boot from now on. */
  async installHook({ critical }: ShutdownBudget): Promise<void> {
    this.#image = await writeHookImage();
    await this.install.byPolicy({ env: { EBS_DRAIN_HOOK_CRITICAL_BUDGET_SECONDS: String(critical) } });
  }

  /** What the next machine has besides the stand-ins. */
  images(): readonly HookImage[] {
    return this.#image === undefined ? [] : [this.#image];
  }

  /** The next machine, with the driver's node pod on it as it is installed now. */
  async boot(budget: ShutdownBudget): Promise<ShutdownMachine> {
    const machine = await ShutdownMachine.boot(this, budget);
    this.#booted.push(machine);
    return machine;
  }

  async isAttached(volumeId: string, node: string): Promise<boolean> {
    return (await attachmentOf(this.controlPlane.api, volumeId, node))?.status?.attached === true;
  }

  /** Handles of volumes that the attach/detach controller took from their nodes by force. */
  forced(): ReadonlySet<string> {
    const lines = this.controlPlane.log("kube-controller-manager", Number.MAX_SAFE_INTEGER).split("\n");
    const volumes = lines
      .filter((line) => line.includes("force detaching"))
      .map((line) => /\^(vol-[0-9a-f]+)/u.exec(line)?.[1] ?? line);
    return new Set(volumes);
  }

  async close(): Promise<void> {
    for (const machine of this.#booted) await machine.close();
    await this.#image?.remove();
    await this.region.close();
    try {
      await this.fleet.stop();
    } finally {
      await this.controlPlane.stop();
    }
  }
}
