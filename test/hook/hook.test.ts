import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HoldEnd } from "../../hook/hold-end.ts";
import { type Misbehaviour, nodeObject, podObject, refuse } from "./fake-cluster.ts";
import { type Stage, isSettled, startStage, until, volume, work } from "./hook-stage.ts";

const ONE = volume("vol-1");
const TWO = volume("vol-2");

let stage: Stage;
beforeEach(async () => {
  stage = await startStage();
});
afterEach(() => stage.close());

async function restart(...change: Parameters<typeof startStage>): Promise<void> {
  await stage.close();
  stage = await startStage(...change);
}

/** The only answer of all containers. */
async function answer(stopping: Promise<readonly HoldEnd[]> = stage.stopPod()): Promise<HoldEnd> {
  const ends = await stopping;
  expect(new Set(ends).size).toBe(1);
  return ends[0] as HoldEnd;
}

/** Begins a hold of a cordoned node with two volumes, and waits until both are watched. */
async function holding(
  node: Parameters<typeof nodeObject>[0] = { cordoned: true },
): Promise<{ readonly stopping: Promise<readonly HoldEnd[]> }> {
  const { cluster } = stage;
  cluster.node = nodeObject({ volumesInUse: [ONE.inUse, TWO.inUse], ...node });
  cluster.attach(ONE.name);
  cluster.attach(TWO.name);
  const stopping = stage.stopPod();
  await until("both attachments are watched", () => cluster.watched().length === 2);
  // Wrapped: an async function would wait for the hold itself.
  return { stopping };
}

const isList: (asked: Parameters<Misbehaviour>[0]) => boolean = ({ path, query }) =>
  path.endsWith("/volumeattachments") && query.get("watch") === null;

describe("a hook on a node that stays (H1)", () => {
  it("answers at once, reads no attachment and records no Event", async () => {
    stage.cluster.attach(ONE.name);
    expect(await answer()).toMatchObject({ rule: "H1", detached: false, held: false });
    expect(stage.cluster.count(/volumeattachments/u)).toBe(0);
    expect(stage.cluster.events()).toEqual([]);
  });

  it("answers a rollout on a cordoned node at once (H3, C29)", async () => {
    stage.cluster.node = nodeObject({ cordoned: true });
    stage.cluster.pod = podObject({ revision: "rev-1" });
    stage.cluster.attach(ONE.name);
    expect(await answer()).toMatchObject({ rule: "H3" });
  });

  it("holds where it may not list revisions, and asks for them once (H3)", async () => {
    stage.cluster.misbehave = ({ path }, response) => path.includes("revisions") && refuse(response, 403);
    stage.cluster.pod = podObject({ revision: "rev-1" });
    const { stopping } = await holding();
    expect(await isSettled(stopping)).toBe(false);
    for (const { name } of [ONE, TWO]) stage.cluster.detach(name);
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
    expect(stage.cluster.count(/controllerrevisions/u)).toBe(1);
  });

  it("answers one container's restart after a second, and holds when the pod ends later (H4)", async () => {
    stage.cluster.node = nodeObject({ cordoned: true });
    stage.cluster.attach(ONE.name);
    stage.cluster.pod = podObject({ deleting: false });
    expect(await stage.hook.preStop("ebs-plugin")).toMatchObject({ rule: "H4" });
    stage.cluster.pod = podObject({});
    const stopping = stage.stopPod();
    await until("it holds", () => stage.cluster.watched().length === 1);
    expect(await isSettled(stopping)).toBe(false);
    stage.cluster.detach(ONE.name);
    expect(await answer(stopping)).toMatchObject({ rule: "H5" });
  });
});

describe("a hook on a node that goes away (H2)", () => {
  it("answers all containers once the last attachment is gone (H5, H11, C32)", async () => {
    const { stopping } = await holding();
    stage.cluster.detach(ONE.name);
    expect(await isSettled(stopping)).toBe(false);
    stage.cluster.detach(TWO.name);
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true, left: [] });
    expect(stage.cluster.asked.filter(isList)).toHaveLength(1);
  });

  it("holds by the taint of an autoscaler under either of its names (H2, C31)", async () => {
    for (const key of ["karpenter.sh/disruption", "karpenter.sh/disrupted"]) {
      const { stopping } = await holding({ taints: [{ key, effect: "NoSchedule" }] });
      for (const { name } of [ONE, TWO]) stage.cluster.detach(name);
      expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  });

  it("waits for no attachment of another driver, and for none of another node (H5, C25)", async () => {
    stage.cluster.node = nodeObject({ cordoned: true });
    stage.cluster.attach("nfs", { attacher: "nfs.csi.k8s.io" });
    stage.cluster.attach("elsewhere", { node: "another" });
    expect(await answer()).toMatchObject({ rule: "H5", detached: true });
    expect(stage.cluster.watched()).toEqual([]);
  });

  it("finds an attachment by the list that no volume's name leads to (H5)", async () => {
    stage.cluster.node = nodeObject({ cordoned: true });
    stage.cluster.attach("made-by-another-tool", { volume: "pv-1" });
    const stopping = stage.stopPod();
    await until("it is watched", () => stage.cluster.watched().includes("made-by-another-tool"));
    stage.cluster.detach("made-by-another-tool");
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
  });

  it("waits for no node-local volume (H5)", async () => {
    const local = volume("local-ebs://vol-9");
    stage.cluster.node = nodeObject({ cordoned: true, volumesInUse: [local.inUse] });
    stage.cluster.attach(local.name);
    stage.cluster.attach("other-name", { volume: "pv-local" });
    stage.cluster.handles.set("pv-local", "local-ebs://vol-8");
    expect(await answer()).toMatchObject({ rule: "H5", detached: true });
  });

  it("waits for none that `work` says to ignore, however many they are (H5)", async () => {
    const pinned = Array.from({ length: 12 }, (_, index) => volume(`vol-pinned-${index}`));
    for (const { name } of pinned) stage.cluster.attach(name);
    const { stopping } = await holding({
      work: work({ ignore: pinned.map(({ name }) => name) }),
      volumesInUse: [...pinned, ONE, TWO].map(({ inUse }) => inUse),
    });
    for (const { name } of [ONE, TWO]) stage.cluster.detach(name);
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
    const names = pinned.map(({ name }) => name);
    expect(stage.cluster.asked.filter(({ path }) => names.some((name) => path.endsWith(name)))).toEqual([]);
  });

  it("watches a few of many attachments at a time and still sees the last one go (H11)", async () => {
    const many = Array.from({ length: 60 }, (_, index) => volume(`vol-many-${index}`));
    stage.cluster.node = nodeObject({ cordoned: true, volumesInUse: many.map(({ inUse }) => inUse) });
    for (const { name } of many) stage.cluster.attach(name);
    const stopping = stage.stopPod();
    await until("some are watched", () => stage.cluster.watched().length === 8);
    for (const { name } of many) stage.cluster.detach(name);
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
  });

  it("is not held for ever by a name that the kubelet still lists after its attachment has gone (H5)", async () => {
    const { stopping } = await holding();
    stage.cluster.detach(ONE.name);
    stage.cluster.detach(TWO.name);
    // volumesInUse stays as it was.
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
  });

  it("lets go when it is uncordoned, or when `work` is withdrawn (H6)", async () => {
    const { stopping: uncordoned } = await holding();
    await until("it holds", () =>
      stage.log.some(({ message, rule }) => message === "holding" && rule === "H5"),
    );
    stage.cluster.node = nodeObject({});
    expect(await answer(uncordoned)).toMatchObject({ rule: "H6", detached: false });
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { stopping: withdrawn } = await holding({ cordoned: true, work: work() });
    stage.cluster.node = nodeObject({ cordoned: true });
    expect(await answer(withdrawn)).toMatchObject({ rule: "H6" });
  });

  it("in a kubelet shutdown waits for volumesInUse and leaves the detach to the control plane (H5)", async () => {
    await restart({ containers: 3 });
    stage.cluster.pod = podObject({ deleting: false });
    const { stopping } = await holding({ message: "node is shutting down" });
    stage.cluster.node = nodeObject({ message: "node is shutting down" });
    const end = await answer(stopping);
    expect(end).toMatchObject({ rule: "H5", detached: false });
    expect(end.left.toSorted()).toEqual([ONE.name, TWO.name].toSorted());
    expect(stage.cluster.events()).toHaveLength(1);
  });

  it("lets go at its own deadline and names what is left (H8)", async () => {
    stage.cluster.pod = podObject({ grace: 4 });
    const end = await answer((await holding()).stopping);
    expect(end).toMatchObject({ rule: "H8", detached: false });
    expect(end.left.toSorted()).toEqual([ONE.name, TWO.name].toSorted());
    expect(stage.cluster.events()).toMatchObject([{ reason: "HookDeadline", type: "Warning" }]);
  });
});

describe("a hook whose API server is in trouble (H7)", () => {
  it.each<[string, Misbehaviour]>([
    ["answers 500", (_, response) => refuse(response, 500)],
    ["answers 401", (_, response) => refuse(response, 401)],
    ["answers 429", (_, response) => refuse(response, 429)],
    [
      "breaks each connection",
      (_, response) => {
        response.socket?.resetAndDestroy();
        return true;
      },
    ],
  ])("holds while it %s, and goes on when that is over", async (_, misbehave) => {
    stage.cluster.node = nodeObject({ cordoned: true });
    stage.cluster.misbehave = misbehave;
    const stopping = stage.stopPod();
    await until("it was asked often", () => stage.cluster.asked.length > 6);
    expect(await isSettled(stopping)).toBe(false);
    stage.cluster.misbehave = () => false;
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
    const troubles = stage.log.filter(
      ({ message, operation }) => message === "API trouble" && operation === "getNode",
    );
    expect(troubles).toHaveLength(1);
  });

  it("holds while nobody listens at its address, and goes on when somebody does", async () => {
    const { stopping } = await holding();
    await stage.cluster.stop();
    await until("it noticed", () => stage.log.some(({ kind }) => kind === "network"));
    for (const { name } of [ONE, TWO]) stage.cluster.attachments.delete(name);
    expect(await isSettled(stopping)).toBe(false);
    await stage.cluster.start();
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
  });

  it("lets go at the deadline although nothing was ever readable (H8)", async () => {
    await restart({ graceSeconds: 4 });
    stage.cluster.misbehave = () => true;
    const end = await answer();
    expect(end).toMatchObject({ rule: "H8", detached: false });
  });

  it("keeps waiting for the attachments of a Node that is not there any more", async () => {
    const { stopping } = await holding();
    stage.cluster.node = undefined;
    stage.cluster.detach(ONE.name);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await isSettled(stopping)).toBe(false);
    stage.cluster.detach(TWO.name);
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
  });

  it("begins the list again where it expires on its way (410)", async () => {
    let expired = 0;
    stage.cluster.node = nodeObject({ cordoned: true });
    for (let index = 0; index < 1_500; index++) stage.cluster.attach(`other-${index}`, { node: "another" });
    stage.cluster.misbehave = (asked, response) =>
      asked.query.get("continue") !== null &&
      expired++ === 0 &&
      refuse(response, 410, "the provided continue parameter is too old");
    expect(await answer()).toMatchObject({ rule: "H5", detached: true });
    expect(stage.cluster.asked.filter(isList).map(({ query }) => query.get("continue"))).toEqual([
      null,
      "1000",
      null,
      "1000",
    ]);
  });

  it("does not take half a list, or something else, for a list in which nothing is attached", async () => {
    let tries = 0;
    stage.cluster.node = nodeObject({ cordoned: true });
    stage.cluster.misbehave = (asked, response) => {
      if (!isList(asked) || tries++ > 1) return false;
      if (tries === 1) response.end('{"kind":"Table","columnDefinitions":[],"rows":[{"cells":["csi-');
      else response.end("<html>a proxy's page</html>");
      return true;
    };
    expect(await answer()).toMatchObject({ rule: "H5", detached: true });
    expect(tries).toBe(3);
  });
});

describe("a hook's report (H10)", () => {
  it("is one log line and one Event, both there before the answer (C30)", async () => {
    const { stopping } = await holding();
    for (const { name } of [ONE, TWO]) stage.cluster.detach(name);
    await answer(stopping);
    expect(stage.log.filter(({ message }) => message === "answer")).toMatchObject([
      { rule: "H5", attachments: 2 },
    ]);
    expect(stage.cluster.events()).toMatchObject([
      { reason: "VolumesDetached", type: "Normal", involvedObject: { kind: "Node", uid: "node-uid" } },
    ]);
  });

  it("does not keep the answer back where the Event is refused or never answered", async () => {
    for (const misbehave of [
      ({ method }, response) => method === "POST" && refuse(response, 403),
      ({ method }) => method === "POST",
    ] satisfies Misbehaviour[]) {
      const { stopping } = await holding();
      stage.cluster.misbehave = misbehave;
      for (const { name } of [ONE, TWO]) stage.cluster.detach(name);
      expect(await answer(stopping)).toMatchObject({ rule: "H5" });
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(stage.log.filter(({ message }) => message === "no Event could be recorded")).toHaveLength(2);
  });

  it("shows in the metrics", async () => {
    const { stopping } = await holding();
    expect(stage.hook.metrics()).toContain("ebs_drain_hook_holding 1\n");
    for (const { name } of [ONE, TWO]) stage.cluster.detach(name);
    await answer(stopping);
    for (const line of [
      "ebs_drain_hook_holds_total 1",
      "ebs_drain_hook_holding 0",
      'ebs_drain_hook_outcomes_total{rule="H5"} 1',
      "ebs_drain_hook_attachments_seen_total 2",
    ]) {
      expect(stage.hook.metrics().split("\n")).toContain(line);
    }
  });
});

describe("a hook with an error of its own (H13)", () => {
  /** A fault that shows only while the Node lists a volume: each look of such a Node throws. */
  const faulty = () => {
    throw new TypeError("a fault");
  };

  it("logs it, holds, and decides as usual once it no longer shows", async () => {
    await restart({}, undefined, faulty);
    stage.cluster.node = nodeObject({ cordoned: true, volumesInUse: [ONE.inUse] });
    const stopping = stage.stopPod();
    await until("it is logged", () => stage.log.some(({ message }) => message === "a look failed"));
    expect(await isSettled(stopping)).toBe(false);
    stage.cluster.node = nodeObject({ cordoned: true });
    expect(await answer(stopping)).toMatchObject({ rule: "H5", detached: true });
  });

  it("lets go at the deadline where it never ends", async () => {
    await restart({ graceSeconds: 4 }, undefined, faulty);
    stage.cluster.node = nodeObject({ cordoned: true, volumesInUse: [ONE.inUse] });
    expect(await answer()).toMatchObject({ rule: "H13", detached: false });
    expect(stage.cluster.events()).toMatchObject([{ reason: "HookDeadline" }]);
  });
});
