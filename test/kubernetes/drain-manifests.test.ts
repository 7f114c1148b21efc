import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DISRUPTION_REASON, KUBERNETES_GROUP, WORK_ANNOTATION } from "../../lib/drain/names.ts";
import { workId } from "../../lib/drain/task.ts";
import { confinementManifests, confinementYaml } from "../../lib/kubernetes/confinement-manifests.ts";
import { flowSchemaManifest, flowSchemaYaml } from "../../lib/kubernetes/flow-schema-manifests.ts";

function fileOf(name: string): string {
  return readFileSync(new URL(`../../manifests/${name}`, import.meta.url), "utf8");
}

describe("the manifests beside the roles", () => {
  it("are what `npm run manifests` makes", () => {
    expect(fileOf("confinement.yaml")).toBe(confinementYaml());
    expect(fileOf("flow-schema.yaml")).toBe(flowSchemaYaml());
  });

  it("are for the drain's group only", () => {
    const [policy, binding] = confinementManifests();
    const conditions = policy?.spec["matchConditions"] as readonly { readonly expression: string }[];

    expect(conditions.map(({ expression }) => expression)).toEqual([
      expect.stringContaining(`'${KUBERNETES_GROUP}' in request.userInfo.groups`),
    ]);
    expect(binding?.spec).toEqual({ policyName: "ebs-drain", validationActions: ["Deny"] });
    expect(JSON.stringify(flowSchemaManifest().spec["rules"])).toContain(`{"name":"${KUBERNETES_GROUP}"}`);
  });

  it("know the taints, the annotation and the reason that the drain writes", () => {
    const text = confinementYaml();
    const [, pattern = ""] = /matches\('([^']+)'\)/.exec(text) ?? [];
    const kinds = ["lifecycle", "spot", "gone"] as const;

    expect(text).toContain(WORK_ANNOTATION);
    expect(text).toContain(DISRUPTION_REASON);
    for (const kind of kinds) {
      expect(workId({ kind, instance: "i-0a1b2c3d4e5f60718", launchTime: 1 })).toMatch(new RegExp(pattern));
    }
    expect("node-shutdown").not.toMatch(new RegExp(pattern));
  });
});
