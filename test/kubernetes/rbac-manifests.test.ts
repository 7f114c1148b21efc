import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import type { RbacRule } from "../../lib/engine/permissions.ts";
import {
  clusterRules,
  hookRbacManifests,
  hookRbacYaml,
  hookRules,
  rbacManifests,
  rbacYaml,
} from "../../lib/kubernetes/rbac-manifests.ts";

const FILE = path.join(import.meta.dirname, "..", "..", "manifests", "rbac.yaml");

describe("the drain's roles", () => {
  it("in manifests/rbac.yaml are what the permission table makes (npm run manifests)", async () => {
    expect(await readFile(FILE, "utf8")).toBe(rbacYaml());
  });

  it("are the same objects in YAML", () => {
    const documents = parseAllDocuments(rbacYaml()).map((document) => document.toJS() as unknown);
    expect(documents).toEqual(rbacManifests());
  });

  it("are bound to the group ebs-drain and to nobody else", () => {
    const bindings = rbacManifests().filter((manifest) => manifest.kind.endsWith("Binding"));
    const group = { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "ebs-drain" };
    expect(bindings.map((binding) => binding.subjects)).toEqual(bindings.map(() => [group]));
  });

  it("each have a binding in their own namespace", () => {
    const of = (suffix: string) =>
      rbacManifests()
        .filter((manifest) => manifest.kind.endsWith(suffix))
        .map((manifest) => `${manifest.metadata.namespace ?? ""}/${manifest.metadata.name}`);
    expect(of("Binding")).toEqual(of("Role"));
  });

  it("grant every rule of the table, and no verb or resource by wildcard", () => {
    const grantsOf = (rule: RbacRule) =>
      rbacManifests().filter(
        (manifest) =>
          manifest.metadata.namespace === rule.namespace &&
          manifest.rules?.some(
            (granted) =>
              granted.apiGroups.includes(rule.apiGroup) &&
              granted.resources.includes(rule.resource) &&
              rule.verbs.every((verb) => granted.verbs.includes(verb)),
          ),
      ).length;
    expect(clusterRules().filter((rule) => grantsOf(rule) !== 1)).toEqual([]);
    expect(rbacYaml()).not.toContain("*");
  });

  it("never allow to create, replace or delete a Node (D14), nor to read secrets", () => {
    const rules = rbacManifests().flatMap((manifest) => manifest.rules ?? []);
    const verbsOn = (resource: string) =>
      rules.filter((rule) => rule.resources.includes(resource)).flatMap((rule) => rule.verbs);
    expect(verbsOn("nodes")).toEqual(["get", "list", "patch"]);
    expect(verbsOn("secrets")).toEqual([]);
  });

  it("do not depend on the order of the table", () => {
    expect(rbacManifests(clusterRules().toReversed())).toEqual(rbacManifests());
  });
});

describe("the hook's roles", () => {
  it("in manifests/hook-rbac.yaml are what the permission table makes (npm run manifests)", async () => {
    expect(await readFile(path.join(path.dirname(FILE), "hook-rbac.yaml"), "utf8")).toBe(hookRbacYaml());
  });

  it("are bound to the service account of the CSI node pods and to nobody else", () => {
    const bindings = hookRbacManifests().filter((manifest) => manifest.kind.endsWith("Binding"));
    const account = { kind: "ServiceAccount", name: "ebs-csi-node-sa", namespace: "kube-system" };
    expect(bindings.map((binding) => binding.subjects)).toEqual(bindings.map(() => [account]));
    expect(bindings).toHaveLength(3);
  });

  it("change nothing but that they add Events, and read no secret", () => {
    const rules = hookRbacManifests().flatMap((manifest) => manifest.rules ?? []);
    const changing = rules.filter((rule) =>
      rule.verbs.some((verb) => !["get", "list", "watch"].includes(verb)),
    );
    expect(changing).toEqual([{ apiGroups: [""], resources: ["events"], verbs: ["create"] }]);
    expect(rules.flatMap((rule) => rule.resources)).not.toContain("secrets");
    expect(hookRbacYaml()).not.toContain("*");
  });

  it("read pods and revisions in the namespace of the CSI node pods only", () => {
    const confined = hookRules().filter(({ resource }) => ["pods", "controllerrevisions"].includes(resource));
    expect(confined.map(({ namespace }) => namespace)).toEqual(["kube-system", "kube-system"]);
  });
});
