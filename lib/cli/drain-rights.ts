/** What a drain by hand may not be without: asked before the first change, so that none is left half-done for want of a right. */
import { CLUSTER_PERMISSIONS, type RbacRule } from "../engine/permissions.ts";
import type { ClusterPort } from "../engine/ports.ts";
import type { AccessQuestion, InspectionPort } from "../kubernetes/inspection.ts";
import { UsageError } from "./running.ts";

const NEEDED: readonly (keyof ClusterPort)[] = [
  "getNode",
  "listPodsOnNode",
  "getClaim",
  "getVolume",
  "getAttachment",
  "listAttachmentRows",
  "getCsiNode",
  "patchNode",
  "evictPod",
];

/** @throws UsageError naming each right that is missing */
export async function requireRights(inspection: InspectionPort, force: boolean): Promise<void> {
  const methods = force ? [...NEEDED, "deletePod" as const] : NEEDED;
  const questions = methods.flatMap((method) => questionsOf(CLUSTER_PERMISSIONS[method]));
  const answers = await Promise.all(
    questions.map(async (question) => ({ question, ...(await inspection.reviewOwnAccess(question)) })),
  );
  const missing = answers.filter(({ allowed }) => !allowed).map(({ question }) => rightText(question));
  if (missing.length === 0) return;
  throw new UsageError(
    `you may not ${missing.join(", ")} in this cluster, and nothing was changed. \`ebs-drain install rbac\` prints a role that ` +
      "holds all of it; bind your user or group to it, or choose another --context",
  );
}

/** One question a verb. */
export function questionsOf(rules: readonly RbacRule[]): readonly AccessQuestion[] {
  return rules.flatMap(({ verbs, ...rule }) => verbs.map((verb) => ({ ...rule, verb })));
}

/** `create pods/eviction`, as `kubectl auth can-i` asks it. */
export function rightText({ verb, resource, apiGroup, namespace }: AccessQuestion): string {
  const kind = apiGroup === "" ? resource : `${resource}.${apiGroup}`;
  return `${verb} ${kind}${namespace === undefined ? "" : ` in ${namespace}`}`;
}
