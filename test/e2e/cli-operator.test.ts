/** `drain`, `plan` and `status` as processes, against the real control plane. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { KUBERNETES_GROUP, WORK_ANNOTATION } from "../../lib/drain/names.ts";
import type { Node } from "./api-objects.ts";
import { type CommandPlace, runCommand, startCommand } from "./command-line.ts";
import { createAll } from "./create-all.ts";
import { Scenario } from "./drain-scenario.ts";
import { Stage } from "./drain-stage.ts";
import { eventually } from "./eventually.ts";
import { disruptionBudget } from "./workloads.ts";

let stage: Stage;
/** Everything may be done, and AWS asked. */
let admin: CommandPlace;

beforeAll(async () => {
  stage = await Stage.start();
  admin = { kubeconfig: stage.controlPlane.kubeconfigPath, awsUrl: stage.region.url };
});

afterAll(async () => {
  await stage?.close();
});

async function nodeOf(name: string): Promise<Node> {
  const node = await stage.api.get<Node>(`/api/v1/nodes/${name}`);
  if (node === undefined) throw new Error(`no Node ${name}`);
  return node;
}

it("drains a Node until its volume is detached in Kubernetes and EC2, with a plain cordon (D19)", async (test) => {
  const scenario = await Scenario.create(stage, "by-hand", test);
  const from = await scenario.launch();
  const volumeId = await scenario.runDatabase(from);
  const to = await scenario.launch();

  const { code, out, errors } = await runCommand(admin, "drain", from.node, "--timeout", "3m");

  expect([code, errors]).toEqual([0, ""]);
  expect(out).toContain(`pod by-hand/db-0 to be evicted`);
  expect(out).toContain(`volume ${volumeId} free`);
  expect(out).toContain("both sources agree");
  expect(stage.region.ec2.volumeState(volumeId, from.instance)).toBe("none");
  const node = await nodeOf(from.node);
  expect(node.spec?.unschedulable).toBe(true);
  expect(node.metadata.annotations?.[WORK_ANNOTATION]).toBeUndefined();
  expect(stage.region.autoScaling.getHistory().filter(({ instance }) => instance === from.instance)).toEqual(
    [],
  );
  await scenario.running("db-0", to);
});

it("plans and dry-runs by instance id without a single change (C21, D18)", async (test) => {
  const scenario = await Scenario.create(stage, "dry", test);
  const from = await scenario.launch();
  const volumeId = await scenario.runDatabase(from);
  const before = await nodeOf(from.node);
  const pod = await scenario.getPod("db-0");

  const planned = await runCommand(admin, "plan", from.instance, "-o", "json");
  const dry = await runCommand(admin, "drain", from.instance, "--dry-run");

  expect([planned.code, dry.code]).toEqual([0, 0]);
  const { decision } = JSON.parse(planned.out);
  expect(decision).toMatchObject({ phase: "evicting", rules: ["D7", "D9"] });
  expect(decision.verdicts).toMatchObject([{ handle: volumeId, verdict: "attached", blocks: true }]);
  expect(dry.out).toContain("evict dry/db-0");
  const after = await nodeOf(from.node);
  expect(after.spec).toEqual(before.spec);
  expect(after.metadata.annotations).toEqual(before.metadata.annotations);
  expect((await scenario.getPod("db-0"))?.metadata.uid).toBe(pod?.metadata.uid);
  expect(stage.region.autoScaling.getHistory().filter(({ instance }) => instance === from.instance)).toEqual(
    [],
  );
});

it("tells in status which pod and budget hold up a lifecycle drain, its age and its time", async (test) => {
  const scenario = await Scenario.create(stage, "held", test);
  const from = await scenario.launch();
  await scenario.runDatabase(from);
  await createAll(stage.api, [disruptionBudget("db", 0, "held")]);
  stage.region.autoScaling.scaleIn(from.instance);
  await eventually("the eviction is blocked", async () =>
    (await scenario.eventsOn(from.node)).some(({ reason }) => reason === "EvictionBlocked"),
  );

  const { code, out, errors } = await runCommand(admin, "status", from.node, "-o", "json");
  expect([code, errors]).toEqual([0, ""]);
  const [row] = JSON.parse(out);
  expect(row).toMatchObject({ node: from.node, instance: from.instance, stage: "evicting (lifecycle)" });
  expect(row.blockedBy[0]).toBe("pod held/db-0 (PodDisruptionBudget db)");
  expect(row.ageSeconds).toBeGreaterThanOrEqual(0);
  expect(row.secondsLeft).toBeGreaterThan(0);

  const table = await runCommand(admin, "status");
  expect(table.out).toMatch(/^NODE +INSTANCE +STAGE +AGE +LEFT +BLOCKED BY$/m);
  expect(table.out).toContain("pod held/db-0 (PodDisruptionBudget db)");
  const planned = await runCommand(admin, "plan", from.node);
  expect(planned.out).toContain("it waits in a lifecycle hook");

  await stage.api.delete("/apis/policy/v1/namespaces/held/poddisruptionbudgets/db");
  await scenario.completed(from);
});

it("leaves a sane state on Ctrl-C, says how to undo it, and goes on when asked again", async (test) => {
  const scenario = await Scenario.create(stage, "stopped", test);
  const from = await scenario.launch();
  await scenario.runDatabase(from);
  await scenario.launch();
  await createAll(stage.api, [disruptionBudget("db", 0, "stopped")]);

  const running = startCommand(admin, ["drain", from.node]);
  await eventually("the budget blocks", () => running.soFar().includes("blocked by PodDisruptionBudget db"));
  running.child.kill("SIGINT");
  const { code, out } = await running.ended;

  expect(code).toBe(130);
  expect(out).toContain("stopped by the operator");
  expect(out).toContain(`To undo: kubectl uncordon ${from.node}`);
  expect((await nodeOf(from.node)).spec?.unschedulable).toBe(true);
  await scenario.running("db-0", from);

  const late = await runCommand(admin, "drain", from.node, "--timeout", "10s");
  expect(late.code).toBe(1);
  expect(late.out).toContain("pod stopped/db-0 (PodDisruptionBudget db)");
  expect(late.out).toContain("was cordoned before");

  await stage.api.delete("/apis/policy/v1/namespaces/stopped/poddisruptionbudgets/db");
  expect((await runCommand(admin, "drain", from.node)).code).toBe(0);
});

it("works with Kubernetes alone and the drain's own role, and says what it cannot verify", async (test) => {
  const scenario = await Scenario.create(stage, "alone", test);
  const from = await scenario.launch();
  const volumeId = await scenario.runDatabase(from);
  await scenario.launch();
  const kubeconfig = await stage.controlPlane.kubeconfigFor("alice", [KUBERNETES_GROUP]);

  const { code, out, errors } = await runCommand({ kubeconfig }, "drain", from.node, "--timeout", "3m");

  expect(code).toBe(0);
  expect(errors).toContain("AWS is not asked");
  expect(out).toContain("EC2 was not asked");
  expect(stage.region.ec2.volumeState(volumeId, from.instance)).toBe("none");
});

it("names the cause and what to do: no right, no such Node, no kubeconfig, no such context (C35)", async () => {
  const kubeconfig = await stage.controlPlane.kubeconfigFor("mallory");
  const [
    {
      items: [node],
    },
  ] = [await stage.api.list<Node>("/api/v1/nodes")];
  const refused = await runCommand({ kubeconfig }, "status");
  expect(refused.code).toBe(2);
  expect(refused.errors).toMatch(/list of Nodes at 127\.0\.0\.1:\d+: .*It needs list on nodes/);
  const unknown = await runCommand(admin, "plan", `${node?.metadata.name}x`);
  expect(unknown.errors).toContain(`did you mean ${node?.metadata.name}?`);
  const nowhere = await runCommand({ kubeconfig: "/nowhere" }, "status", "--kubernetes-only");
  expect(nowhere.errors).toMatch(/error: .*(nowhere|cluster).*--kubeconfig/);
  const context = await runCommand(admin, "status", "--context", "prod");
  expect(context.errors).toContain('has no context "prod"');
  expect([unknown.code, nowhere.code, context.code]).toEqual([2, 2, 2]);
});
