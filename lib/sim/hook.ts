/**
 * The hook in the CSI node pods of the simulated cluster: the product's own decision (`hold`) over what the API server says, looked
 * at every half second, and after a hand-over the completion of the lifecycle action by its token (H9).
 */
import type { HoldObservation } from "../drain/hold.ts";
import { hold, rememberHold } from "../drain/hold.ts";
import { DRAIN_TAINTS } from "../drain/going-away.ts";
import { type HoldMemory, NOTHING_HELD } from "../drain/hold-memory.ts";
import { DEFAULT_POLICY } from "../drain/policy.ts";
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";
import { isLocal } from "../drain/volumes.ts";
import { readWork } from "../drain/work-order.ts";
import type { CsiPodStopping } from "./cluster-node-pods.ts";
import { nodeViewOf } from "./cluster-views.ts";
import { Ec2Fault } from "./seams.ts";
import type { World } from "./world.ts";

const LOOK_EVERY = SECOND / 2;
/** Driver, registrar and the hook's own container. */
const HOOKS = { arrived: 3, expected: 3 } as const;

export class SimulatedHook {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** The pod's preStop hooks have arrived; one wait for all of them (H11). */
  hold(stopping: CsiPodStopping): void {
    const { clock, note } = this.#world;
    let ended = false;
    stopping.onEnded(() => {
      ended = true;
    });
    note("hook", stopping.node, `asked: the CSI node pod is stopping (${stopping.why})`);
    const startedAt = clock.now();
    const look = (memory: HoldMemory): void => {
      if (ended) return;
      const observation = this.#observe(stopping, startedAt, memory);
      const verdict = hold(observation);
      if (verdict.kind === "hold") {
        const next = rememberHold(observation, verdict);
        clock.after(Math.min(LOOK_EVERY, verdict.againSeconds * SECOND), () => look(next));
        return;
      }
      note("hook", stopping.node, `${verdict.rule}: ${verdict.reason}`);
      if (verdict.detached) this.#complete(stopping);
      stopping.release();
    };
    look(NOTHING_HELD);
  }

  #observe(stopping: CsiPodStopping, startedAt: Instant, memory: HoldMemory): HoldObservation {
    const { clock, cluster } = this.#world;
    const { api } = cluster;
    const node = api.nodes.get(stopping.node);
    const attachments = api.attachments.list().filter(({ spec }) => spec.nodeName === stopping.node);
    return {
      at: clock.now(),
      startedAt,
      policy: DEFAULT_POLICY,
      drainTaints: DRAIN_TAINTS,
      hooks: HOOKS,
      configuredGrace: stopping.graceSeconds,
      pod: {
        kind: "read",
        value: { deleting: stopping.why === "deleted", graceSeconds: stopping.graceSeconds },
      },
      newestRevision: { kind: "unread" },
      node: { kind: "read", value: node === undefined ? null : nodeViewOf(node) },
      attachments: {
        kind: "read",
        value: attachments.map(({ metadata, spec }) => ({
          name: metadata.name,
          attacher: spec.attacher,
          local: this.#isLocal("volumeName" in spec.source ? spec.source.volumeName : undefined),
        })),
      },
      listed: true,
      memory,
    };
  }

  #isLocal(volumeName: string | undefined): boolean {
    const source =
      volumeName === undefined ? undefined : this.#world.cluster.api.volumes.get(volumeName)?.spec.source;
    return source?.kind === "csi" && isLocal(source.handle);
  }

  /** H9: only with a hand-over to this very pod, by the token in it. */
  #complete(stopping: CsiPodStopping): void {
    const { cluster, autoScaling, note } = this.#world;
    const node = cluster.api.nodes.get(stopping.node);
    const reading = node === undefined ? undefined : readWork(nodeViewOf(node));
    if (reading?.kind !== "open" || reading.work.handedOver !== stopping.uid) return;
    const { group, hook, token } = reading.work;
    if (hook === undefined || token === undefined) return;
    try {
      autoScaling.complete({ group, hook, token }, "CONTINUE", "hook");
      note("hook", stopping.node, "lifecycle action completed with CONTINUE");
    } catch (error) {
      if (!(error instanceof Ec2Fault)) throw error;
      note("hook", stopping.node, `lifecycle action: ${error.message}`);
    }
  }
}
