/**
 * The same machine's end twice in one cluster, at the same moment: in a group that ebs-drain cares for, and in one that nobody
 * cares for. As on EKS, the Node of an instance that is gone is deleted once its kubelet is silent; here the test does that.
 */
import { expect, it } from "vitest";
import type { TestContext } from "vitest";
import { fastNodeDeath } from "./control-plane.ts";
import { Scenario } from "./drain-scenario.ts";
import { Stage, type StageOptions } from "./drain-stage.ts";
import { eventually } from "./eventually.ts";
import type { Machine } from "./machines.ts";
import { seconds } from "./machine-scenario.ts";
import { UNCARED_GROUP } from "./region.ts";
import { describeSlow } from "./slow-tests.ts";

const SHORTENED_WAIT_SECONDS = 20;
/** Node lifecycle, pod garbage collection and Kubernetes' 6 minutes together; with all of them users report up to 9. */
const LIMIT_SECONDS = 900;

it("moves a volume sooner than Kubernetes alone does, even with Kubernetes' times shortened (C1)", async (test) => {
  const options = { kcmArgs: fastNodeDeath, maxWaitForUnmountSeconds: SHORTENED_WAIT_SECONDS };
  const times = await compare("short", options, test);
  expect(times.with).toBeLessThan(times.without);
  console.log(
    `C1, Kubernetes' times SHORTENED (6 min -> ${SHORTENED_WAIT_SECONDS} s, node silent after 8 s): ${textOf(times)}`,
  );
});

describeSlow("the same move with and without ebs-drain, with Kubernetes' own times (C1)", () => {
  it("moves a volume minutes sooner", { timeout: 2 * LIMIT_SECONDS * 1_000 }, async (test) => {
    const times = await compare("own", {}, test);
    expect(times.without - times.with).toBeGreaterThan(300_000);
    console.log(`C1, Kubernetes' own times: ${textOf(times)}`);
  });
});

/** Unix milliseconds: of both scale-ins, and of each volume's attachment to its other machine. */
interface Times {
  readonly from: number;
  readonly with: number;
  readonly without: number;
}

async function compare(name: string, options: StageOptions, test: TestContext): Promise<Times> {
  const stage = await Stage.start({ ...options, ec2Delays: { shuttingDown: [15_000, 15_000] } });
  try {
    const cared = await Scenario.create(stage, `${name}-with`, test);
    const uncared = await Scenario.create(stage, `${name}-without`, test);
    const [first, second] = [await cared.launch(), await uncared.launch({ group: UNCARED_GROUP })];
    const volumes = [await cared.runDatabase(first), await uncared.runDatabase(second)] as const;
    const targets = [await cared.launch(), await uncared.launch({ group: UNCARED_GROUP })] as const;

    const from = Date.now();
    for (const { instance } of [first, second]) stage.region.autoScaling.scaleIn(instance);
    const [drained, waited] = await Promise.all([
      stage.timeline.attachment(volumes[0], targets[0].node, "attached", LIMIT_SECONDS),
      stage.timeline.attachment(volumes[1], targets[1].node, "attached", LIMIT_SECONDS),
      deleteNodeOnceGone(stage, second),
    ]);

    await cared.running("db-0", targets[0]);
    await uncared.running("db-0", targets[1]);
    expect(stage.functions.executionsFor(second.instance)).toEqual([]);
    expect(stage.fleet.mounts.doubleMounts()).toEqual([]);
    return { from, with: drained, without: waited };
  } finally {
    await stage.close();
  }
}

/** What the cloud controller does: the instance is gone and its Node not Ready. */
async function deleteNodeOnceGone({ timeline, fleet, api }: Stage, machine: Machine): Promise<void> {
  await timeline.instance(machine.instance, "terminated");
  await eventually(`${machine.node} is not Ready`, () => {
    const conditions = fleet.nodes.get(machine.node)?.status?.conditions ?? [];
    return conditions.some(({ type, status }) => type === "Ready" && status !== "True");
  });
  await api.delete(`/api/v1/nodes/${machine.node}`);
}

function textOf({ from, with: drained, without }: Times): string {
  return (
    `from the scale-in to the volume attached on the other node ${seconds(from, drained)} with ebs-drain, ` +
    `${seconds(from, without)} without it`
  );
}
