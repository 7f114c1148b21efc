import { type Operation, applyPatch } from "rfc6902";
import { describe, expect, it } from "vitest";
import type { NodeView, PatchOperation, Taint } from "../../lib/drain/cluster.ts";
import { OUT_OF_SERVICE_TAINT, WORK_ANNOTATION } from "../../lib/drain/names.ts";
import {
  cordonPatch,
  outOfServicePatch,
  outOfServiceValue,
  untaintPatch,
  withdrawPatch,
  workPatch,
} from "../../lib/drain/node-patch.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import { goneTask, lifecycleTask, node, untouchedNode, work } from "./observation-builder.ts";

const ORDER = work(lifecycleTask());
const OURS = goneTask().id;
const theirs: Taint = { key: "dedicated", value: "gpu", effect: "NoSchedule" };
const outOfService = (value: string): Taint => ({
  key: OUT_OF_SERVICE_TAINT,
  value,
  effect: "NoExecute",
});

interface RawNode {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
}

/** The object as the API server has it, another annotation beside `work`. */
function rawOf(view: NodeView): RawNode {
  const annotations = {
    ...(view.work === undefined ? {} : { [WORK_ANNOTATION]: view.work }),
    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
  };
  return {
    metadata: {
      uid: view.uid,
      resourceVersion: view.resourceVersion,
      ...(view.hasAnnotations ? { annotations } : {}),
    },
    spec: {
      ...(view.unschedulable ? { unschedulable: true } : {}),
      ...(view.taints.length === 0 ? {} : { taints: view.taints }),
    },
  };
}

/** As the API server applies it: all of it, or nothing and an error. */
function applied(view: NodeView, patch: readonly PatchOperation[], raw = rawOf(view)): RawNode {
  const target = structuredClone(raw);
  const failures = applyPatch(target, patch as Operation[]).filter((failure) => failure !== null);
  expect(failures).toEqual([]);
  return target;
}

const withdraw = (view: NodeView, uncordon = true): readonly PatchOperation[] =>
  withdrawPatch(view, { uncordon, isOurTaint: (value) => value === OURS });

const tainted = node({ taints: [theirs, outOfService(OURS)] });
const PATCHES: readonly (readonly [string, NodeView, readonly PatchOperation[], boolean])[] = [
  ["cordon", untouchedNode(), cordonPatch(untouchedNode(), ORDER), false],
  ["cordon of a cordoned node", node(), cordonPatch(node(), ORDER), false],
  [
    "cordon of a node without annotations",
    untouchedNode({ hasAnnotations: false }),
    cordonPatch(untouchedNode({ hasAnnotations: false }), ORDER),
    true,
  ],
  ["work", node(), workPatch(node(), { ...ORDER, ignore: ["csi-1"] }), false],
  ["withdrawal", node(), withdraw(node()), false],
  ["withdrawal with our taint", tainted, withdraw(tainted), true],
  [
    "taint of an untainted node",
    untouchedNode(),
    outOfServicePatch(untouchedNode(), work(goneTask()), OURS),
    true,
  ],
  [
    "taint beside another's",
    untouchedNode({ taints: [theirs] }),
    outOfServicePatch(untouchedNode({ taints: [theirs] }), work(goneTask()), OURS),
    true,
  ],
  ["untaint", tainted, untaintPatch(tainted, OURS), true],
];

describe("D5: every patch of a Node", () => {
  it.each(PATCHES)("begins with a test of the uid: %s", (_what, view, patch) => {
    expect(patch[0]).toEqual({ op: "test", path: "/metadata/uid", value: view.uid });
    applied(view, patch);
  });

  it.each(PATCHES)("does nothing to another Node of the name: %s", (_what, view, patch) => {
    const raw = rawOf({ ...view, uid: "another" });
    const [first] = applyPatch(structuredClone(raw), patch as Operation[]);
    expect(first).toMatchObject({ name: "TestError" });
  });

  it.each(PATCHES)("tests the resourceVersion before a list or a missing map changes: %s", (...row) => {
    const [, view, patch, versioned] = row;
    const test = { op: "test", path: "/metadata/resourceVersion", value: view.resourceVersion };
    expect(patch.some((step) => step.op === "test" && step.path === test.path)).toBe(versioned);
    const touches = (step: PatchOperation): boolean =>
      step.op !== "test" && (step.path.startsWith("/spec/taints") || step.path === "/metadata/annotations");
    const change = patch.findIndex(touches);
    expect(change === -1).toBe(!versioned);
    expect(versioned ? patch.slice(0, change) : [test]).toContainEqual(test);
  });
});

describe("what a patch makes of the Node", () => {
  it("cordons and writes `work` in one patch, and keeps other annotations", () => {
    const after = applied(untouchedNode(), cordonPatch(untouchedNode(), ORDER));
    expect(after.spec.unschedulable).toBe(true);
    expect(after.metadata.annotations).toEqual({
      [WORK_ANNOTATION]: formatWork(ORDER),
      "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    });
  });

  it("writes `work` to a Node without annotations", () => {
    const bare = untouchedNode({ hasAnnotations: false });
    expect(applied(bare, cordonPatch(bare, ORDER)).metadata.annotations).toEqual({
      [WORK_ANNOTATION]: formatWork(ORDER),
    });
  });

  it("leaves a cordon that stands as it is, whoever set it", () => {
    expect(cordonPatch(node(), ORDER).map(({ path }) => path)).not.toContain("/spec/unschedulable");
  });

  it("takes off exactly our taints, `work` and the cordon, in one patch (D15)", () => {
    const view = node({
      taints: [outOfService(OURS), theirs, outOfService("an operator's"), outOfService(OURS)],
    });
    const after = applied(view, withdraw(view));
    expect(after.spec.taints).toEqual([theirs, outOfService("an operator's")]);
    expect(after.spec.unschedulable).toBe(false);
    expect(after.metadata.annotations).not.toHaveProperty(WORK_ANNOTATION);
  });

  it("leaves a cordon that is not ours where it takes `work` back", () => {
    expect(applied(node(), withdraw(node(), false)).spec.unschedulable).toBe(true);
  });

  it("takes back only the `work` that was read: newer work fails the patch", () => {
    const newer = node({ work: formatWork({ ...ORDER, handedOver: "uid" }) });
    const failures = applyPatch(rawOf(newer), withdraw(node()) as Operation[]);
    expect(failures.some((failure) => failure?.name === "TestError")).toBe(true);
  });

  it("taints with our work id and keeps others' taints (D14)", () => {
    const view = untouchedNode({ taints: [theirs] });
    const after = applied(view, outOfServicePatch(view, work(goneTask()), OURS));
    expect(after.spec.taints).toEqual([theirs, outOfService(OURS)]);
    expect(after.spec.unschedulable).toBe(true);
    expect(after.metadata.annotations?.[WORK_ANNOTATION]).toContain(OURS);
  });

  it("untaints only a taint with our value (D14)", () => {
    expect(applied(tainted, untaintPatch(tainted, OURS)).spec.taints).toEqual([theirs]);
    const others = node({ taints: [outOfService("an operator's")] });
    expect(applied(others, untaintPatch(others, OURS)).spec.taints).toEqual(others.taints);
  });
});

it("reads the out-of-service taint's value, empty where it has none", () => {
  expect(outOfServiceValue(node())).toBeUndefined();
  expect(outOfServiceValue(tainted)).toBe(OURS);
  const bare: Taint = { key: OUT_OF_SERVICE_TAINT, effect: "NoExecute" };
  expect(outOfServiceValue(node({ taints: [bare] }))).toBe("");
});
