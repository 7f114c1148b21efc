import { describe, expect, it } from "vitest";
import type { Operator } from "../../lib/cli/operator.ts";
import { type StatusOptions, status } from "../../lib/cli/status.ts";
import { MINUTE } from "../../lib/drain/time.ts";
import { PortError } from "../../lib/engine/errors.ts";
import type { BudgetView } from "../../lib/kubernetes/inspection.ts";
import { embed } from "../../lib/cli/embedded.ts";
import { threePods } from "../../lib/sim/scenes.ts";
import { World } from "../../lib/sim/world.ts";
import { type Answer, inspectionOf, operatorOf, runIn } from "./world-operator.ts";

const GROUP = "workers-a";

/** A drain in the middle, held up by the budget that lets one of db's two pods go at a time, and that one is not ready again. */
async function blockedDrain(): Promise<{
  readonly world: World;
  readonly node: string;
  readonly instance: string;
}> {
  const world = new World({ seed: 3 });
  const scene = await threePods(world, { group: GROUP }, { db: { budget: { minAvailable: 2 } } });
  embed(world, { group: GROUP });
  world.autoScaling.scaleIn(scene.instance);
  await world.clock.advance(world.clock.now() + 2 * MINUTE);
  return { world, node: scene.node ?? "", instance: scene.instance };
}

const DB_BUDGET: BudgetView = {
  namespace: "default",
  name: "db",
  selector: { matchLabels: { app: "db" }, matchExpressions: [] },
  disruptionsAllowed: 0,
  currentHealthy: 2,
  desiredHealthy: 2,
  expectedPods: 2,
};

function ask(
  world: World,
  name?: string,
  options: Partial<StatusOptions> = {},
  differs: Partial<Operator> = {},
  looks = 1,
): Promise<Answer> {
  const operator = operatorOf(world, {
    inspection: inspectionOf({ listBudgets: async () => [DB_BUDGET] }),
    ...differs,
  });
  let left = looks;
  const again = (seconds: number) => world.clock.call(seconds * 1_000, () => --left > 0);
  return runIn(world, (terminal) =>
    status(name, { output: "table", ...options }, operator, terminal, { again }),
  );
}

describe("status", () => {
  it("says that nothing drains where nothing does", async () => {
    const world = new World({ seed: 4 });
    await threePods(world, { group: GROUP });
    expect((await ask(world)).out).toBe("no Node is draining: none is cordoned, none carries work");
  });

  it("tells stage, time left, and the pod and budget that block, and changes nothing", async () => {
    const { world, node, instance } = await blockedDrain();
    const before = world.clusterPort.changes.length;
    const { code, out, errors } = await ask(world);
    expect([code, errors]).toEqual([0, ""]);
    const [heading, row] = out.split("\n");
    expect(heading).toMatch(/^NODE +INSTANCE +STAGE +AGE +LEFT +BLOCKED BY$/);
    expect(row).toContain(node);
    expect(row).toContain(instance);
    expect(row).toContain("evicting (lifecycle)");
    expect(row).toMatch(/ \d+s +1h5\dm /);
    expect(out).toContain("pod default/db-0 (PodDisruptionBudget db)");
    const own = world.clusterPort.changes.slice(before).filter(({ method }) => method !== "evictPod");
    expect(own).toEqual([]);
  });

  it("answers machines with every blocker", async () => {
    const { world, node } = await blockedDrain();
    const rows = JSON.parse((await ask(world, undefined, { output: "json" })).out);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ node, group: GROUP, stage: "evicting (lifecycle)" });
    expect(rows[0].secondsLeft).toBeGreaterThan(7_000);
    expect(rows[0].blockedBy.length).toBeGreaterThanOrEqual(4);
    expect((await ask(world, undefined, { output: "wide" })).out).toContain(rows[0].work);
  });

  it("tells a cordon of somebody else's, and a Node that was asked for and does not drain", async () => {
    const world = new World({ seed: 5 });
    const { node = "" } = await threePods(world, { group: GROUP });
    expect((await ask(world, node)).out).toContain("not draining");
    const [cordoned] = world.cluster.api.nodes.list().filter(({ metadata }) => metadata.name === node);
    if (cordoned === undefined) throw new Error(`no Node ${node}`);
    world.cluster.api.nodes.update(cordoned, ({ spec }) => {
      spec.unschedulable = true;
    });
    expect((await ask(world)).out).toContain("evicting, cordoned by others");
  });

  it("goes on without the budgets where they may not be read, and says what is missing then", async () => {
    const { world } = await blockedDrain();
    const refused = new PortError(
      "forbidden",
      "kubernetes.listBudgets",
      "list of PodDisruptionBudgets: forbidden",
    );
    const { code, out, errors } = await ask(
      world,
      undefined,
      {},
      { inspection: inspectionOf({ listBudgets: () => Promise.reject(refused) }) },
    );
    expect(code).toBe(0);
    expect(errors).toContain("which budgets block is not known");
    expect(out).toContain("pod default/db-0");
  });

  it("watches: one table per look, each with its time", async () => {
    const { world } = await blockedDrain();
    const { out } = await ask(world, undefined, { watch: 5 }, {}, 3);
    expect(out.match(/^2026-\S+Z$/gm)).toHaveLength(3);
    expect(out.match(/^NODE /gm)).toHaveLength(3);
  });

  it("ends with 2 and the cause where the cluster cannot be asked (C35)", async () => {
    const world = new World({ seed: 6 });
    const refused = new PortError(
      "unauthenticated",
      "kubernetes.listNodes",
      "list of Nodes: the credentials were refused (401)",
    );
    const cluster = { ...world.clusterPort, listNodes: () => Promise.reject(refused) };
    const { code, errors } = await ask(world, undefined, {}, { cluster });
    expect([code, errors]).toEqual([2, "error: list of Nodes: the credentials were refused (401)"]);
  });
});
