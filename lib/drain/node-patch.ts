/** JSON patches of a Node. Each begins with a `test` of the uid and, where taints change, of the resourceVersion (D5). */
import type { NodeView, PatchOperation } from "./cluster.ts";
import { OUT_OF_SERVICE_TAINT, WORK_ANNOTATION, WORK_POINTER } from "./names.ts";
import { type Work, formatWork } from "./work-order.ts";

/** Unschedulable and `work` in one patch: the first change of all (D5). */
export function cordonPatch(node: NodeView, work: Work): readonly PatchOperation[] {
  return [
    testUid(node),
    ...(node.unschedulable ? [] : [{ op: "add" as const, path: "/spec/unschedulable", value: true }]),
    ...writeWork(node, work),
  ];
}

/** Unschedulable alone, as kubectl's cordon is (D19). */
export function plainCordonPatch(node: NodeView): readonly PatchOperation[] {
  return [testUid(node), { op: "add", path: "/spec/unschedulable", value: true }];
}

/** `work` alone. */
export function workPatch(node: NodeView, work: Work): readonly PatchOperation[] {
  return [testUid(node), ...writeWork(node, work)];
}

/** Undoes what is ours: `work`, the taints whose value `isOurTaint` accepts, and the cordon where `uncordon` (D15, I8). */
export function withdrawPatch(
  node: NodeView,
  what: { readonly uncordon: boolean; readonly isOurTaint: (value: string) => boolean },
): readonly PatchOperation[] {
  const taints = removeTaints(node, what.isOurTaint);
  return [
    testUid(node),
    ...(taints.length > 0 ? [testVersion(node)] : []),
    ...taints,
    ...(what.uncordon && node.unschedulable
      ? [{ op: "replace" as const, path: "/spec/unschedulable", value: false }]
      : []),
    ...(node.work === undefined
      ? []
      : [
          { op: "test" as const, path: WORK_POINTER, value: node.work },
          { op: "remove" as const, path: WORK_POINTER },
        ]),
  ];
}

/** Unschedulable, `work` and the out-of-service taint in one patch (D14). */
export function outOfServicePatch(node: NodeView, work: Work, taintValue: string): readonly PatchOperation[] {
  const taint = { key: OUT_OF_SERVICE_TAINT, value: taintValue, effect: "NoExecute" };
  return [
    testUid(node),
    testVersion(node),
    ...(node.unschedulable ? [] : [{ op: "add" as const, path: "/spec/unschedulable", value: true }]),
    node.taints.length === 0
      ? { op: "add", path: "/spec/taints", value: [taint] }
      : { op: "add", path: "/spec/taints/-", value: taint },
    ...writeWork(node, work),
  ];
}

/** Takes off the out-of-service taint, only where its value is this. */
export function untaintPatch(node: NodeView, taintValue: string): readonly PatchOperation[] {
  return [testUid(node), testVersion(node), ...removeTaints(node, (value) => value === taintValue)];
}

/** The out-of-service taint's value, whoever set it; `undefined` where there is none. */
export function outOfServiceValue(node: NodeView): string | undefined {
  const taint = node.taints.find((candidate) => candidate.key === OUT_OF_SERVICE_TAINT);
  return taint === undefined ? undefined : (taint.value ?? "");
}

function testUid(node: NodeView): PatchOperation {
  return { op: "test", path: "/metadata/uid", value: node.uid };
}

function testVersion(node: NodeView): PatchOperation {
  return { op: "test", path: "/metadata/resourceVersion", value: node.resourceVersion };
}

function writeWork(node: NodeView, work: Work): readonly PatchOperation[] {
  const value = formatWork(work);
  // Adding to a missing map fails, and adding the map over an existing one would lose it: the uid's test does not cover that,
  // so a Node without annotations is patched under its resourceVersion.
  return node.hasAnnotations
    ? [{ op: "add", path: WORK_POINTER, value }]
    : [testVersion(node), { op: "add", path: "/metadata/annotations", value: { [WORK_ANNOTATION]: value } }];
}

/** From the last index down, so that each index is still right when its turn comes. */
function removeTaints(node: NodeView, isOurs: (value: string) => boolean): readonly PatchOperation[] {
  return node.taints
    .map((taint, index) => ({ taint, index }))
    .filter(({ taint }) => taint.key === OUT_OF_SERVICE_TAINT && isOurs(taint.value ?? ""))
    .toReversed()
    .map(({ index }) => ({ op: "remove" as const, path: `/spec/taints/${index}` }));
}
