import { describe, expect, it } from "vitest";
import { type DrainOptions, type DrainSurroundings, drain } from "../../lib/cli/drain.ts";
import { embed } from "../../lib/cli/embedded.ts";
import type { Operator } from "../../lib/cli/operator.ts";
import { plainProgress } from "../../lib/cli/plain-progress.ts";
import { readWork } from "../../lib/drain/work-order.ts";
import { SECOND } from "../../lib/drain/time.ts";
import type { InspectionPort } from "../../lib/kubernetes/inspection.ts";
import { nodeViewOf } from "../../lib/sim/cluster-views.ts";
import type { Scene } from "../../lib/sim/scenario.ts";
import { type ThreePods, threePods } from "../../lib/sim/scenes.ts";
import { World } from "../../lib/sim/world.ts";
import { type Answer, inspectionOf, operatorOf, runIn } from "./world-operator.ts";

const GROUP = "workers-a";
const OPTIONS: DrainOptions = {
  timeout: 1_800,
  dryRun: false,
  force: false,
  forceAfter: 600,
  output: "table",
};
const MAY_ALL: InspectionPort["reviewOwnAccess"] = async () => ({ allowed: true, reason: "" });

async function build(
  spec: ThreePods = {},
  seed = 11,
): Promise<{ readonly world: World; readonly scene: Scene }> {
  const world = new World({ seed });
  return { world, scene: await threePods(world, { group: GROUP }, spec) };
}

interface More {
  readonly options?: Partial<DrainOptions>;
  readonly operator?: Partial<Operator>;
  readonly seconds?: number;
  /** Seconds of the drain after which the operator presses Ctrl-C. */
  readonly interruptAfter?: number;
}

function run(world: World, name: string, more: More = {}): Promise<Answer> {
  const { clock } = world;
  const begun = clock.now();
  const isInterrupted = (): boolean => clock.now() - begun >= (more.interruptAfter ?? Infinity) * SECOND;
  const operator = operatorOf(world, {
    inspection: inspectionOf({ reviewOwnAccess: MAY_ALL }),
    ...more.operator,
  });
  return runIn(
    world,
    (terminal) => {
      const around: DrainSurroundings = {
        terminal,
        progress: ({ at }) => plainProgress(terminal.print, at),
        wait: (seconds) => clock.sleep(seconds * SECOND),
        isInterrupted,
      };
      return drain(name, { ...OPTIONS, ...more.options }, operator, around);
    },
    { seconds: more.seconds ?? 2_400 },
  );
}

function nodeOf(world: World, { node }: Scene) {
  const found = world.cluster.api.nodes.list().find(({ metadata }) => metadata.name === node);
  if (found === undefined) throw new Error(`no Node ${node}`);
  return nodeViewOf(found);
}

const ATTACHED_HERE = (world: World, scene: Scene): readonly string[] =>
  world.ec2
    .describeVolumes()
    .flatMap(({ id, attachment }) =>
      attachment?.instance === scene.instance && attachment.device !== "/dev/xvda" ? [id] : [],
    );

describe("drain", () => {
  it("ends when no pod is left and both sources show no volume, and says how to undo the cordon (D19)", async () => {
    const { world, scene } = await build();
    expect(ATTACHED_HERE(world, scene)).toHaveLength(3);
    const { code, out, errors } = await run(world, scene.node ?? "");
    expect([code, errors]).toEqual([0, ""]);
    expect(ATTACHED_HERE(world, scene)).toEqual([]);
    expect(nodeOf(world, scene)).toMatchObject({ unschedulable: true });
    expect(nodeOf(world, scene).work).toBeUndefined();
    for (const words of [
      "pod default/db-0 to be evicted",
      "pod default/queue-0 gone",
      "detach volumes",
      " free",
      `${scene.node} is drained: both sources agree`,
      `kubectl uncordon ${scene.node}`,
    ]) {
      expect(out).toContain(words);
    }
    const lines = out.split("\n");
    expect(lines.findIndex((line) => line.endsWith("  cordon"))).toBe(0);
    expect(world.autoScaling.getHistory()).toEqual([]);
  });

  it("changes nothing anywhere in a dry run, and completes no action that is open (C21, D18)", async () => {
    const { world, scene } = await build();
    world.autoScaling.scaleIn(scene.instance);
    await world.clock.advance(world.clock.now() + 20 * SECOND);
    const before = [world.clusterPort.changes.length, world.autoScaling.getHistory().length];
    const { code, out } = await run(world, scene.instance, { options: { dryRun: true } });
    expect(code).toBe(0);
    expect(out).toContain(`dry run of ${scene.node}`);
    expect(out).toContain("evict default/db-0");
    expect([world.clusterPort.changes.length, world.autoScaling.getHistory().length]).toEqual(before);
    expect(nodeOf(world, scene).unschedulable).toBe(false);
  });

  it("names the budget that blocks, gives up at its time-out with 1, and what is left", async () => {
    const { world, scene } = await build({ db: { budget: { minAvailable: 2 } } });
    const { code, out } = await run(world, scene.node ?? "", { options: { timeout: 120 } });
    expect(code).toBe(1);
    expect(out).toContain("blocked by PodDisruptionBudget db");
    expect(out).toContain(`${scene.node} is not drained: the time-out is reached`);
    expect(out).toContain("evicted so far: default/queue-0");
    expect(out).toMatch(/still there:\n {2}pod default\/db-\d \(PodDisruptionBudget db\)/);
  });

  it("deletes what a budget blocks with --force, once its time has come (I5)", async () => {
    const { world, scene } = await build({ db: { budget: { minAvailable: 2 } } });
    const begun = world.clock.now();
    const { code } = await run(world, scene.node ?? "", { options: { force: true, forceAfter: 120 } });
    expect(code).toBe(0);
    const deleted = world.clusterPort.changes.filter(({ method }) => method === "deletePod");
    expect(new Set(deleted.map(({ pod }) => pod?.name))).toEqual(new Set(["db-0", "db-1"]));
    expect(Math.min(...deleted.map(({ at }) => at))).toBeGreaterThanOrEqual(begun + 120 * SECOND);
  });

  it("refuses a --force that would never come before the time-out", async () => {
    const { world, scene } = await build();
    const { code, errors } = await run(world, scene.node ?? "", {
      options: { force: true, forceAfter: 1_800 },
    });
    expect(code).toBe(2);
    expect(errors).toContain("--force-after 1800s is not before the --timeout of 1800s");
  });

  it("works with Kubernetes alone, and says what it cannot verify then", async () => {
    const { world, scene } = await build();
    const before = world.ec2.describeVolumes().length;
    const aws = { kind: "none", why: "no AWS credentials were found" } as const;
    const { code, out, errors } = await run(world, scene.node ?? "", { operator: { aws } });
    expect(code).toBe(0);
    expect(before).toBeGreaterThan(0);
    expect(errors).toContain("AWS is not asked: no AWS credentials were found");
    expect(out).toContain("EC2 was not asked");
  });

  it("stops on Ctrl-C after the look at hand: cordoned, nothing half-done, and how to undo it", async () => {
    const { world, scene } = await build({ db: { budget: { minAvailable: 2 } } });
    const { code, out } = await run(world, scene.node ?? "", { interruptAfter: 30 });
    expect(code).toBe(130);
    expect(out).toContain(`${scene.node} is not drained: stopped by the operator`);
    expect(out).toContain(`To undo: kubectl uncordon ${scene.node}`);
    expect(out).toContain(`To go on: ebs-drain drain ${scene.node}`);
    expect(nodeOf(world, scene).unschedulable).toBe(true);
  });

  it("begins nothing without the rights for all of it, and names those that are missing (C35)", async () => {
    const { world, scene } = await build();
    const inspection = inspectionOf({
      reviewOwnAccess: async ({ resource }) => ({ allowed: resource !== "pods/eviction", reason: "" }),
    });
    const before = world.clusterPort.changes.length;
    const { code, errors } = await run(world, scene.node ?? "", { operator: { inspection } });
    expect(code).toBe(2);
    expect(errors).toContain("you may not create pods/eviction in this cluster, and nothing was changed");
    expect(errors).toContain("ebs-drain install rbac");
    expect(world.clusterPort.changes).toHaveLength(before);
  });

  it("answers machines with the end alone on standard output", async () => {
    const { world, scene } = await build();
    const { out } = await run(world, scene.node ?? "", { options: { output: "json" } });
    const json = JSON.parse(out.slice(out.indexOf("{\n")));
    expect(json).toMatchObject({ node: scene.node, outcome: "freed", left: [], cordon: "set" });
    expect(json.evicted).toHaveLength(3);
  });

  it("is left alone by the sweep: a plain cordon is nobody's work (I8)", async () => {
    const { world, scene } = await build();
    embed(world, { group: GROUP });
    const { code } = await run(world, scene.node ?? "");
    await world.clock.advance(world.clock.now() + 300 * SECOND);
    expect(code).toBe(0);
    expect(nodeOf(world, scene)).toMatchObject({ unschedulable: true });
    expect(readWork(nodeOf(world, scene))).toEqual({ kind: "none" });
  });

  it("does not disturb a lifecycle drain of the same machine, which completes as ever", async () => {
    const { world, scene } = await build();
    embed(world, { group: GROUP });
    world.clock.after(5 * SECOND, () => world.autoScaling.scaleIn(scene.instance));
    await run(world, scene.node ?? "");
    await world.clock.advance(world.clock.now() + 300 * SECOND);
    const completions = world.autoScaling.getHistory().filter(({ kind }) => kind === "complete");
    expect(completions).toMatchObject([{ result: "CONTINUE", outcome: "accepted" }]);
  });
});
