/** Things go wrong on a real node while the hook holds. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addOthersAttachments } from "./many-attachments.ts";
import { NodeScenario } from "./node/node-scenario.ts";
import { NodeStage } from "./node/node-stage.ts";
import { BUILD_LIMIT_MS } from "./node/real-node.ts";
import { wantsSlowTests } from "./run-settings.ts";

/** Seconds that the database needs to stop: time for things to go wrong. */
const STOP_SECONDS = 8;
/** Longer than the pods' grace in a test of its end. */
const FOR_EVER = 90;
const SHORT_GRACE = 15;

/** With 30,000 the hook that the driver brings was killed in its limit of 256 MiB; to make that many takes minutes. */
const ATTACHMENTS = wantsSlowTests() ? 30_000 : 3_000;
const MIB = 2 ** 20;

let stage: NodeStage;
beforeAll(async () => {
  stage = await NodeStage.start({ isFast: true });
  await stage.install.byPolicy();
  await stage.rollOut();
}, BUILD_LIMIT_MS);
afterAll(() => stage?.close());

/** The node goes away, and the hook holds. */
async function hold(name: string, stopSeconds = STOP_SECONDS) {
  await stage.rolledOut();
  const scenario = await NodeScenario.create(stage, name, stopSeconds);
  const pod = await scenario.goAway();
  await scenario.when(`${pod}/ebs-drain-hook`, /^holding rule="H5"/u);
  return { scenario, pod, hook: `${pod}/ebs-drain-hook`, driver: `${pod}/ebs-plugin` };
}

describe("a hold on a real node", () => {
  it("ends when the driver is dead, and the next pod unmounts (H12)", async () => {
    const { scenario, pod, hook } = await hold("driver-killed");
    const killed = stage.timeline.note("killing the driver");
    await stage.signalContainer(pod, "ebs-plugin", "SIGKILL");
    const answered = await scenario.when(hook, /^answer .*rule="H12"/u);
    const registrar = await scenario.when(`${pod}/node-driver-registrar`, /got terminated/u);
    const gone = await scenario.when("api", scenario.attachment);
    scenario.report({ killed, answered, "registrar asked to end": registrar, "attachment gone": gone });
    expect(answered).toBeLessThan(registrar);
    expect(registrar).toBeLessThan(gone);
  });

  it("ends with the hook's own container, and the next pod unmounts", async () => {
    const { scenario, pod } = await hold("hook-killed");
    const killed = stage.timeline.note("killing the hook");
    await stage.signalContainer(pod, "ebs-drain-hook", "SIGKILL");
    const driver = await scenario.when(`${pod}/ebs-plugin`, /got terminated/u);
    const gone = await scenario.when("api", scenario.attachment);
    scenario.report({ killed, "driver asked to end": driver, "attachment gone": gone });
    expect(driver).toBeLessThan(gone);
  });

  it("goes on after a restart of the kubelet, with a fresh grace", async () => {
    const { scenario, hook, driver } = await hold("kubelet-restarted");
    const stopped = stage.timeline.note("killing the kubelet");
    await stage.node.stopKubelet();
    await stage.node.startKubelet();
    const again = await scenario.when(hook, /^asked/u, stopped);
    const detached = await scenario.when("ec2", scenario.detached);
    const answered = await scenario.when(hook, /^answer .*rule="H5"/u);
    const ended = await scenario.when(driver, /got terminated/u);
    scenario.report({ stopped, "asked again": again, detached, answered });
    expect(again).toBeGreaterThan(stopped);
    expect(detached).toBeLessThan(answered);
    expect(answered).toBeLessThan(ended);
  });

  it("outlasts the API server's absence (H7)", async () => {
    const { scenario, hook, driver } = await hold("api-server-away");
    const { controlPlane } = stage.stage;
    const stopped = stage.timeline.note("killing the API server");
    await controlPlane.stopApiServer();
    const trouble = await scenario.when(hook, /^API trouble/u, stopped);
    const unstaged = await scenario.when("mount", /unstaged/u);
    await controlPlane.startApiServer();
    const started = stage.timeline.note("the API server is ready");
    const gone = await scenario.when("api", scenario.attachment);
    const answered = await scenario.when(hook, /^answer .*rule="H5"/u);
    const ended = await scenario.when(driver, /got terminated/u);
    scenario.report({ stopped, trouble, unstaged, started, "attachment gone": gone, answered });
    expect(answered).toBeGreaterThan(started);
    expect(answered).toBeLessThan(ended);
  });

  it("ends when the node is uncordoned (H6)", async () => {
    const { scenario, hook } = await hold("uncordoned", FOR_EVER);
    const uncordoned = stage.timeline.note("uncordoned");
    await stage.uncordon();
    const answered = await scenario.when(hook, /^answer .*rule="H6"/u);
    const next = await scenario.when("api", /^pod ebs-csi-node-\w+: Running/u, answered);
    scenario.report({ uncordoned, answered, "next pod runs": next });
    expect(stage.timeline.find("mount", /unstaged/u, scenario.since)).toBeUndefined();
  });
});

describe("a hold for longer than the pod's grace", () => {
  beforeAll(async () => {
    await stage.install.byPolicy({ graceSeconds: SHORT_GRACE });
    await stage.rollOut({ graceSeconds: SHORT_GRACE });
  });

  it("lasts as long as the pod's grace where the hook hangs", async () => {
    const { scenario, pod, driver } = await hold("hook-hangs", FOR_EVER);
    await stage.signalContainer(pod, "ebs-drain-hook", "SIGSTOP");
    const ended = await scenario.when(driver, /got terminated/u);
    const next = await scenario.when("api", /^pod ebs-csi-node-\w+: Running/u, ended);
    scenario.report({ "driver asked to end": ended, "next pod runs": next });
    expect(ended - scenario.since).toBeGreaterThan(SHORT_GRACE * 1_000 - 1_000);
  });

  it("ends before the pod's grace, with what is left, in order (H8)", async () => {
    const { scenario, hook, driver } = await hold("deadline", FOR_EVER);
    const answered = await scenario.when(hook, /^answer .*rule="H8"/u);
    const ended = await scenario.when(driver, /got terminated/u);
    scenario.report({ answered, "driver asked to end": ended });
    expect(answered).toBeLessThan(ended);
    expect(ended - scenario.since).toBeLessThan(SHORT_GRACE * 1_000);
    expect(
      stage.timeline.find("kubelet", /PreStop hook (failed|not completed)/u, scenario.since),
    ).toBeUndefined();
  });
});

describe(`a hold in a cluster with ${ATTACHMENTS} attachments`, () => {
  it("stays in its limit of 96 MiB and is not killed (H11)", async () => {
    await stage.install.byPolicy();
    await stage.rollOut();
    await addOthersAttachments(stage.stage.api, ATTACHMENTS);
    const { scenario, pod, hook } = await hold("many-attachments");
    await scenario.when(hook, /^attachments listed ofNode=1$/u);
    const peak = await stage.node.memoryPeakOf(await stage.containerId(pod, "ebs-drain-hook"));
    const answered = await scenario.when(hook, /^answer .*rule="H5"/u);
    await scenario.when("api", new RegExp(`^pod ${pod}: .*ebs-drain-hook terminated 0 Completed`, "u"));
    scenario.report({ answered });
    console.log(`the container's memory, page cache included: at most ${(peak / MIB).toFixed(0)} MiB`);
    expect(peak).toBeLessThan(96 * MIB);
    expect(stage.timeline.find("api", /OOMKilled/u)).toBeUndefined();
  });
});
