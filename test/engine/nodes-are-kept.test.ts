import { expect, it } from "vitest";
import { HOOK_PERMISSIONS } from "../../lib/engine/permissions.ts";
import { clusterRules, hookRules } from "../../lib/kubernetes/rbac-manifests.ts";

it("never deletes or creates a Node: neither the drain's role nor the hook's would let it (C23, D14)", () => {
  const verbs = [...clusterRules(), ...hookRules()]
    .filter(({ resource }) => resource === "nodes")
    .flatMap((rule) => rule.verbs);
  expect([...new Set(verbs)].sort()).toEqual(["get", "list", "patch"]);
  expect(
    Object.values(HOOK_PERMISSIONS)
      .flat()
      .flatMap((rule) => rule.verbs),
  ).not.toContain("delete");
});
