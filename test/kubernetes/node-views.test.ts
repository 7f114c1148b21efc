import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csiNodeView, leaseView, nodeView } from "../../lib/kubernetes/node-views.ts";

/** A Node as a 1.37 API server sends it, cut to what matters. */
const NODE = {
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name: "ip-10-0-0-1.eu-west-1.compute.internal",
    uid: "cf7dad15-4d78-4ee0-9cf6-cb9fc2dad06e",
    resourceVersion: "217",
    creationTimestamp: "2026-10-01T12:00:00Z",
    annotations: { "ebs-drain.dev/work": '{"id":"w"}', "node.alpha.kubernetes.io/ttl": "0" },
  },
  spec: {
    providerID: "aws:///eu-west-1a/i-0123456789abcdef0",
    unschedulable: true,
    taints: [
      { key: "team", value: "db", effect: "NoSchedule" },
      {
        key: "node.kubernetes.io/unschedulable",
        effect: "NoSchedule",
        timeAdded: "2026-10-01T12:01:00Z",
      },
    ],
  },
  status: {
    conditions: [
      {
        type: "MemoryPressure",
        status: "False",
        reason: "KubeletHasSufficientMemory",
        message: "",
        lastTransitionTime: "2026-10-01T12:00:00Z",
      },
      {
        type: "Ready",
        status: "False",
        reason: "KubeletNotReady",
        message: "node is shutting down",
        lastHeartbeatTime: "2026-10-01T12:05:00Z",
        lastTransitionTime: "2026-10-01T12:04:00Z",
      },
    ],
    nodeInfo: { bootID: "5f2c1d7e-6f65-4b55-8c0d-0d1a3e8f2b11", kubeletVersion: "v1.37.2" },
    volumesInUse: ["kubernetes.io/csi/ebs.csi.aws.com^vol-0a1"],
    volumesAttached: [{ name: "kubernetes.io/csi/ebs.csi.aws.com^vol-0a1", devicePath: "" }],
  },
};

describe("a Node", () => {
  it("shows what the rules read", () => {
    expect(nodeView(NODE)).toEqual({
      name: "ip-10-0-0-1.eu-west-1.compute.internal",
      uid: "cf7dad15-4d78-4ee0-9cf6-cb9fc2dad06e",
      resourceVersion: "217",
      providerId: "aws:///eu-west-1a/i-0123456789abcdef0",
      bootId: "5f2c1d7e-6f65-4b55-8c0d-0d1a3e8f2b11",
      unschedulable: true,
      taints: [
        { key: "team", value: "db", effect: "NoSchedule" },
        {
          key: "node.kubernetes.io/unschedulable",
          effect: "NoSchedule",
          since: Date.parse("2026-10-01T12:01:00Z"),
        },
      ],
      work: '{"id":"w"}',
      hasAnnotations: true,
      ready: {
        status: "False",
        reason: "KubeletNotReady",
        message: "node is shutting down",
        since: Date.parse("2026-10-01T12:04:00Z"),
      },
      volumesInUse: ["kubernetes.io/csi/ebs.csi.aws.com^vol-0a1"],
      deleting: false,
    });
  });

  it("reads the same with times as Dates, as client-node holds them", () => {
    const withDates = structuredClone(NODE) as unknown as Record<string, Record<string, unknown>>;
    withDates["metadata"]!["creationTimestamp"] = new Date("2026-10-01T12:00:00Z");
    withDates["status"]!["conditions"] = NODE.status.conditions.map((condition) => ({
      ...condition,
      lastTransitionTime: new Date(condition.lastTransitionTime),
    }));
    expect(nodeView(withDates)).toEqual(nodeView(NODE));
  });

  it("whose kubelet never reported is Unknown since it was made", () => {
    const node = nodeView({ metadata: { name: "n", creationTimestamp: "2026-10-01T12:00:00Z" } });
    expect(node.ready).toEqual({
      status: "Unknown",
      reason: "",
      message: "",
      since: Date.parse("2026-10-01T12:00:00Z"),
    });
  });

  it("without annotations says so, because a patch has to add the map first (D5)", () => {
    expect(nodeView({ metadata: { name: "n" } }).hasAnnotations).toBe(false);
    expect(nodeView({ metadata: { name: "n", annotations: {} } }).hasAnnotations).toBe(true);
  });

  it("that is being deleted says so", () => {
    const node = { metadata: { name: "n", deletionTimestamp: "2026-10-01T12:00:00Z" } };
    expect(nodeView(node).deleting).toBe(true);
  });

  it("keeps every taint at its index, an odd one too", () => {
    const taints = [{ key: "a", effect: "Odd" }, {}, { key: "b", value: "", effect: "NoExecute" }];
    const view = nodeView({ spec: { taints } });
    expect(view.taints.map((taint) => taint.key)).toEqual(["a", "", "b"]);
  });
});

describe("a CSINode", () => {
  it("shows the id that each driver gave", () => {
    const drivers = [
      { name: "ebs.csi.aws.com", nodeID: "i-0123456789abcdef0", topologyKeys: ["zone"] },
      { name: "efs.csi.aws.com", nodeID: "i-0123456789abcdef0" },
      { name: "odd.example.com" },
    ];
    expect(csiNodeView({ metadata: { name: "n" }, spec: { drivers } })).toEqual({
      name: "n",
      nodeIds: { "ebs.csi.aws.com": "i-0123456789abcdef0", "efs.csi.aws.com": "i-0123456789abcdef0" },
    });
  });

  it("of a node without drivers shows none", () => {
    const csiNode = { metadata: { name: "n" }, spec: { drivers: null } };
    expect(csiNodeView(csiNode)).toEqual({ name: "n", nodeIds: {} });
  });
});

describe("a Lease", () => {
  it("keeps the microseconds by which renewals differ", () => {
    const lease = { metadata: { name: "n" }, spec: { renewTime: "2026-10-01T12:00:00.123456Z" } };
    expect(leaseView(lease)).toEqual({ name: "n", renewTime: "2026-10-01T12:00:00.123456Z" });
  });

  it("that was never renewed has an empty time", () => {
    expect(leaseView({ metadata: { name: "n" }, spec: {} })).toEqual({ name: "n", renewTime: "" });
  });
});

it("any JSON makes a view of the expected shape and no error", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (whole, part, list) => {
      const odd = {
        metadata: { name: part, annotations: part, deletionTimestamp: part },
        spec: { taints: list, drivers: [list], renewTime: part, unschedulable: part },
        status: { conditions: [list], nodeInfo: part, volumesInUse: [part] },
      };
      for (const json of [whole, odd]) {
        expect(typeof nodeView(json).uid).toBe("string");
        expect(Number.isFinite(nodeView(json).ready.since)).toBe(true);
        expect(csiNodeView(json).nodeIds).toBeTypeOf("object");
        expect(typeof leaseView(json).renewTime).toBe("string");
      }
    }),
  );
});
