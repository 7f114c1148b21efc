import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { podView } from "../../lib/kubernetes/pod-view.ts";

/** A StatefulSet's pod as a 1.37 API server sends it, cut to what matters. */
const POD = {
  metadata: {
    namespace: "shop",
    name: "db-0",
    uid: "276b9f64-1691-4fab-81e1-a27457b8b43e",
    creationTimestamp: "2026-10-01T12:00:00Z",
    labels: { app: "db" },
    ownerReferences: [
      { kind: "Backup", name: "nightly", controller: false },
      { kind: "StatefulSet", name: "db", controller: true },
    ],
  },
  spec: {
    nodeName: "n1",
    priorityClassName: "system-node-critical",
    initContainers: [{ name: "migrate" }, { name: "proxy", restartPolicy: "Always" }],
    containers: [{ name: "main" }, { name: "exporter" }],
    tolerations: [
      {
        key: "node.kubernetes.io/not-ready",
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: 300,
      },
      { operator: "Exists" },
      { key: "team", operator: "Equal", value: "db" },
    ],
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "data-db-0" } },
      { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: {} } } },
      { name: "old", awsElasticBlockStore: { volumeID: "aws://eu-west-1a/vol-0bb" } },
      { name: "config", configMap: { name: "db" } },
    ],
  },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
};

describe("a pod", () => {
  it("shows what the rules read", () => {
    expect(podView(POD)).toEqual({
      namespace: "shop",
      name: "db-0",
      uid: "276b9f64-1691-4fab-81e1-a27457b8b43e",
      nodeName: "n1",
      phase: "Running",
      createdAt: Date.parse("2026-10-01T12:00:00Z"),
      deleting: false,
      controller: { kind: "StatefulSet", name: "db" },
      mirror: false,
      priorityClass: "system-node-critical",
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
        { operator: "Exists" },
        { key: "team", operator: "Equal", value: "db" },
      ],
      labels: { app: "db" },
      containers: ["proxy", "main", "exporter"],
      claims: ["data-db-0", "db-0-scratch"],
      inlineHandles: ["vol-0bb"],
    });
  });

  it("is deleting once its end was asked for", () => {
    const metadata = { ...POD.metadata, deletionTimestamp: "2026-10-01T12:10:00Z" };
    expect(podView({ ...POD, metadata }).deleting).toBe(true);
  });

  it("of the kubelet itself is a mirror", () => {
    const metadata = { ...POD.metadata, annotations: { "kubernetes.io/config.mirror": "hash" } };
    expect(podView({ ...POD, metadata }).mirror).toBe(true);
  });

  it("that only a non-controlling owner has is without a controller", () => {
    const metadata = { ...POD.metadata, ownerReferences: [{ kind: "Backup", name: "nightly" }] };
    expect(podView({ ...POD, metadata })).not.toHaveProperty("controller");
  });

  it.each([
    ["True", "TerminationByKubelet"],
    ["False", undefined],
  ])("with a DisruptionTarget condition that is %s has the reason %s", (status, expected) => {
    const conditions = [{ type: "DisruptionTarget", status, reason: "TerminationByKubelet" }];
    const view = podView({ ...POD, status: { phase: "Failed", conditions } });
    expect(view.phase).toBe("Failed");
    expect(view.disruptionTarget).toBe(expected);
  });

  it("of a phase that nobody knows is Unknown", () => {
    expect(podView({ ...POD, status: { phase: "Dreaming" } }).phase).toBe("Unknown");
    expect(podView({}).phase).toBe("Unknown");
  });

  it("of any JSON makes a view of the expected shape and no error", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (whole, part) => {
        const odd = {
          metadata: { name: part, ownerReferences: [part], labels: part, annotations: part },
          spec: { volumes: [part, { name: part, ephemeral: part }], tolerations: [part], containers: [part] },
          status: { conditions: [part], phase: part },
        };
        for (const json of [whole, odd]) {
          const view = podView(json);
          expect(view.claims.every((claim) => typeof claim === "string")).toBe(true);
          expect(Number.isFinite(view.createdAt)).toBe(true);
        }
      }),
    );
  });
});
