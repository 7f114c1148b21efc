import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearest } from "../../lib/drain/near-miss.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import type { Problem, Settings } from "../../lib/drain/settings.ts";
import { clusterOfGroup, readSettings } from "../../lib/drain/settings.ts";

const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const CLUSTER = { name: "prod-1", groups: ["workers-a", "workers-b"] };
const ADDRESS = {
  endpoint: "https://ABC123.gr7.eu-west-1.eks.amazonaws.com",
  certificateAuthority: btoa(PEM),
};

function valid(raw: unknown): Settings {
  const reading = readSettings(raw);
  if (reading.kind === "invalid") throw new Error(JSON.stringify(reading.problems));
  return reading.settings;
}

function problems(raw: unknown): readonly Problem[] {
  const reading = readSettings(raw);
  if (reading.kind === "valid") throw new Error("the settings were accepted");
  return reading.problems;
}

function policyProblems(policy: unknown): readonly Problem[] {
  return problems({ policy, clusters: [CLUSTER] });
}

function isFrozenThroughout(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isFrozenThroughout);
}

describe("readSettings on good settings", () => {
  it("needs no more than a cluster's name and a group; the policy is the default", () => {
    expect(valid({ clusters: [{ name: "c", groups: ["g"] }] })).toEqual({
      policy: DEFAULT_POLICY,
      clusters: [{ name: "c", groups: ["g"] }],
    });
  });

  it("keeps everything that is given", () => {
    const raw = {
      policy: {
        hookName: "drain/ebs_1",
        heartbeatTimeout: 120,
        maxDuration: 12_000,
        onDeadline: "ABANDON",
        force: true,
        forceAfter: 600,
        margin: 10,
        criticalBudget: 20,
        kubeletGrace: 60,
        joinGrace: 0,
        drivers: ["ebs.csi.aws.com", "ebs.csi.example.com"],
        outOfService: false,
      },
      clusters: [
        { ...CLUSTER, ...ADDRESS },
        { name: "prod-2", groups: ["g@2"] },
      ],
      account: "011122223333",
      region: "us-gov-west-1",
    };
    expect(valid(raw)).toEqual(raw);
  });

  it("fills in what a partial policy leaves out", () => {
    expect(valid({ policy: { margin: 30 }, clusters: [CLUSTER] }).policy).toEqual({
      ...DEFAULT_POLICY,
      margin: 30,
    });
  });

  it("takes an explicit undefined for absent", () => {
    const raw = {
      policy: undefined,
      clusters: [{ ...CLUSTER, endpoint: undefined, certificateAuthority: undefined, note: undefined }],
      account: undefined,
    };
    expect(valid(raw)).toStrictEqual({ policy: DEFAULT_POLICY, clusters: [CLUSTER] });
  });

  it("is frozen throughout and leaves what it was given alone", () => {
    const raw = { policy: { drivers: ["a.b"] }, clusters: [{ ...CLUSTER, ...ADDRESS }] };
    expect(isFrozenThroughout(valid(raw))).toBe(true);
    expect(Object.isFrozen(raw.clusters[0]?.groups)).toBe(false);
    expect(Object.isFrozen(raw.policy.drivers)).toBe(false);
  });

  it("is the same when its own answer is read again", () => {
    const settings = valid({ policy: { margin: 30 }, clusters: [{ ...CLUSTER, ...ADDRESS }] });
    expect(valid(JSON.parse(JSON.stringify(settings)))).toEqual(settings);
  });

  it("accepts the default policy written out", () => {
    expect(valid({ policy: DEFAULT_POLICY, clusters: [CLUSTER] }).policy).toEqual(DEFAULT_POLICY);
  });
});

describe("the policy's limits", () => {
  it.each<[string, object]>([
    ["D6: the shortest heartbeat", { heartbeatTimeout: 120, maxDuration: 12_000 }],
    ["the longest heartbeat", { heartbeatTimeout: 7_200 }],
    ["D13: 100 heartbeats", { heartbeatTimeout: 300, maxDuration: 30_000 }],
    ["D13: 48 hours", { heartbeatTimeout: 7_200, maxDuration: 172_800 }],
    ["the smallest margin", { margin: 10 }],
    ["a deadline just above the margin", { maxDuration: 61, margin: 60 }],
    ["force just before the deadline", { force: true, forceAfter: 7_139 }],
    ["a forceAfter that force does not use", { force: false, forceAfter: 172_800 }],
    ["the longest hook name", { hookName: "x".repeat(255) }],
  ])("takes %s", (_, policy) => {
    expect(valid({ policy, clusters: [CLUSTER] }).policy).toMatchObject(policy);
  });

  it.each<[string, object, string, string]>([
    [
      "D6: a heartbeat under two minutes",
      { heartbeatTimeout: 119 },
      "heartbeatTimeout",
      "whose event was lost",
    ],
    [
      "a heartbeat over 2 h",
      { heartbeatTimeout: 7_201 },
      "heartbeatTimeout",
      "120 to 7200, got the number 7201",
    ],
    ["a heartbeat as text", { heartbeatTimeout: "300" }, "heartbeatTimeout", 'got "300"'],
    ["a broken number", { heartbeatTimeout: 60.5 }, "heartbeatTimeout", "a whole number of seconds"],
    ["not a number", { heartbeatTimeout: Number.NaN }, "heartbeatTimeout", "got the number NaN"],
    [
      "D13: more than 100 heartbeats",
      { heartbeatTimeout: 120, maxDuration: 12_001 },
      "maxDuration",
      "raise heartbeatTimeout to 121 s",
    ],
    ["D13: over 48 h", { heartbeatTimeout: 7_200, maxDuration: 172_801 }, "maxDuration", "48 h"],
    ["D13: a deadline within the margin", { maxDuration: 60 }, "maxDuration", "more than the margin of 60 s"],
    ["a margin under 10 s", { margin: 9 }, "margin", "a retried request"],
    ["a deadline that is neither result", { onDeadline: "continue" }, "onDeadline", "CONTINUE or ABANDON"],
    ["force as text", { force: "no" }, "force", 'true or false, got "no"'],
    ["a negative forceAfter", { forceAfter: -1 }, "forceAfter", "got the number -1"],
    [
      "force after the deadline, which would be accepted and ignored",
      { force: true, forceAfter: 7_140 },
      "forceAfter",
      "less than 7140 s",
    ],
    [
      "force within a margin that leaves no time at all",
      { force: true, maxDuration: 60 },
      "maxDuration",
      "60 s",
    ],
    [
      "H8: a critical budget that its own margin eats",
      { criticalBudget: 4 },
      "criticalBudget",
      "3 s are kept",
    ],
    ["a grace without end", { kubeletGrace: Infinity }, "kubeletGrace", "got the number Infinity"],
    ["a null for a default", { joinGrace: null }, "joinGrace", "got null. A new instance"],
    ["no drivers at all", { drivers: [] }, "drivers", "at least one"],
    ["one driver not in a list", { drivers: "ebs.csi.aws.com" }, "drivers", "a list of CSI driver names"],
    ["a driver that is no name", { drivers: ["ebs.csi.aws.com", "a b"] }, "drivers[1]", 'got "a b"'],
    ["a driver twice", { drivers: ["a.b", "c.d", "a.b"] }, "drivers", "a.b stands in it more than once"],
    ["outOfService as a number", { outOfService: 1 }, "outOfService", "true or false"],
    ["D2, C22: the hook of EKS", { hookName: "Terminate-LC-Hook" }, "hookName", "the hook of EKS itself"],
    ["a hook name that Auto Scaling refuses", { hookName: "ebs drain" }, "hookName", "1 to 255"],
    ["an empty hook name", { hookName: "" }, "hookName", "1 to 255"],
  ])("refuses %s", (_, policy, field, words) => {
    const found = policyProblems(policy);
    expect(found).toHaveLength(1);
    expect(found[0]?.path).toBe(`policy.${field}`);
    expect(found[0]?.problem).toContain(words);
  });

  it("says nothing of a rule between two fields while one of them is broken itself", () => {
    expect(policyProblems({ heartbeatTimeout: 5, maxDuration: 40_000 }).map(({ path }) => path)).toEqual([
      "policy.heartbeatTimeout",
    ]);
  });
});

describe("clusters, account and region", () => {
  const PATHS: readonly [string, unknown, string, string][] = [
    ["no settings", undefined, "", "expected an object, got nothing"],
    ["a list", [], "", "expected an object, got an array"],
    ["no clusters", {}, "clusters", "a list of clusters, got nothing"],
    ["an empty list of clusters", { clusters: [] }, "clusters", "at least one"],
    ["a cluster that is a name", { clusters: ["prod-1"] }, "clusters[0]", 'an object, got "prod-1"'],
    [
      "a cluster without groups",
      { clusters: [{ name: "c" }] },
      "clusters[0].groups",
      "got nothing. Nothing of",
    ],
    [
      "a cluster with no group",
      { clusters: [{ name: "c", groups: [] }] },
      "clusters[0].groups",
      "at least one",
    ],
    ["a cluster without a name", { clusters: [{ groups: ["g"] }] }, "clusters[0].name", "got nothing"],
    ["a name that EKS refuses", { clusters: [{ name: "-c", groups: ["g"] }] }, "clusters[0].name", '"-c"'],
    [
      "a group's ARN",
      { clusters: [{ name: "c", groups: ["g", "arn:aws:autoscaling:eu-west-1:1:x"] }] },
      "clusters[0].groups[1]",
      "not its ARN",
    ],
    [
      "D1: a group in two clusters",
      { clusters: [CLUSTER, { name: "prod-2", groups: ["g", "workers-b"] }] },
      "clusters[1].groups[1]",
      "workers-b stands at clusters[0].groups[1] already",
    ],
    [
      "a group twice",
      { clusters: [{ name: "c", groups: ["g", "g"] }] },
      "clusters[0].groups[1]",
      "groups[0]",
    ],
    [
      "a cluster twice",
      { clusters: [CLUSTER, { ...CLUSTER, groups: ["g"] }] },
      "clusters[1].name",
      "one entry",
    ],
    [
      "an endpoint without its certificate authority",
      { clusters: [{ ...CLUSTER, endpoint: ADDRESS.endpoint }] },
      "clusters[0].certificateAuthority",
      "together, or neither",
    ],
    [
      "a certificate authority without its endpoint",
      { clusters: [{ ...CLUSTER, certificateAuthority: ADDRESS.certificateAuthority }] },
      "clusters[0].endpoint",
      "together, or neither",
    ],
    [
      "an endpoint without TLS",
      { clusters: [{ ...CLUSTER, ...ADDRESS, endpoint: "http://127.0.0.1:6443" }] },
      "clusters[0].endpoint",
      "an address such as https",
    ],
    [
      "an endpoint with a password in it",
      { clusters: [{ ...CLUSTER, ...ADDRESS, endpoint: "https://me:secret@127.0.0.1" }] },
      "clusters[0].endpoint",
      "an address such as https",
    ],
    [
      "an endpoint with a query",
      { clusters: [{ ...CLUSTER, ...ADDRESS, endpoint: "https://127.0.0.1/?x" }] },
      "clusters[0].endpoint",
      "an address such as https",
    ],
    [
      "an endpoint with a fragment",
      { clusters: [{ ...CLUSTER, ...ADDRESS, endpoint: "https://127.0.0.1/#x" }] },
      "clusters[0].endpoint",
      "an address such as https",
    ],
    [
      "a PEM that is not in base64",
      { clusters: [{ ...CLUSTER, ...ADDRESS, certificateAuthority: PEM }] },
      "clusters[0].certificateAuthority",
      "certificateAuthority.data",
    ],
    [
      "base64 of something else",
      { clusters: [{ ...CLUSTER, ...ADDRESS, certificateAuthority: btoa("MIIB") }] },
      "clusters[0].certificateAuthority",
      "a PEM certificate in base64",
    ],
    [
      "an account as a number",
      { clusters: [CLUSTER], account: 111122223333 },
      "account",
      "a string of 12 digits",
    ],
    ["a region's zone", { clusters: [CLUSTER], region: "eu-west-1a" }, "region", "a region such as"],
    ["a null policy", { clusters: [CLUSTER], policy: null }, "policy", "an object, got null"],
  ];

  it.each(PATHS)("refuses %s", (_, raw, path, words) => {
    const found = problems(raw);
    expect(found.map((problem) => problem.path)).toEqual([path]);
    expect(found[0]?.problem).toContain(words);
  });
});

describe("unknown keys", () => {
  it.each<[string, unknown, string, string]>([
    ["a swapped pair", { policy: { heartbeatTimeuot: 60 } }, "policy.heartbeatTimeuot", "heartbeatTimeout?"],
    ["a missing letter", { policy: { forceAftr: 60 } }, "policy.forceAftr", "forceAfter?"],
    ["another case", { policy: { hookname: "x" } }, "policy.hookname", "hookName?"],
    ["a doubled letter", { cclusters: 1 }, "cclusters", "clusters?"],
    ["a singular", { clusters: [{ ...CLUSTER, group: "g" }] }, "clusters[0].group", "groups?"],
    ["a word like none", { dryRun: true }, "dryRun", "known are policy, clusters, account, region"],
    ["an inherited name", { policy: { constructor: 1 } }, "policy.constructor", "unknown key"],
    ["a prototype", JSON.parse('{"__proto__": {"region": "eu-west-1"}}'), "__proto__", "unknown key"],
  ])("says what was probably meant by %s", (_, raw, path, words) => {
    const found = problems({ clusters: [CLUSTER], ...(raw as object), ...own(raw, "__proto__") });
    expect(found.map((problem) => problem.path)).toEqual([path]);
    expect(found[0]?.problem).toContain(words);
  });

  it("suggests only what is near", () => {
    expect(nearest("margni", ["margin", "force"])).toBe("margin");
    expect(nearest("MARGIN", ["margin"])).toBe("margin");
    expect(nearest("forse", ["force", "forceAfter"])).toBe("force");
    expect(nearest("froce", ["force"])).toBe("force");
    expect(nearest("forks", ["force"])).toBeUndefined();
    expect(nearest("forch", ["force", "forca"])).toBe("force");
    expect(nearest("grace", ["margin", "force"])).toBeUndefined();
    expect(nearest("", ["force"])).toBeUndefined();
  });
});

/** The object's own key as a property that spreading keeps, `__proto__` included. */
function own(raw: unknown, key: string): object {
  const value = Object.getOwnPropertyDescriptor(Object(raw), key)?.value as unknown;
  return value === undefined ? {} : Object.fromEntries([[key, value]]);
}

describe("all problems at once", () => {
  it("finds every one of them, each at its own path", () => {
    const raw = {
      policy: { heartbeatTimeout: 30, margin: 5, drivers: [], forse: true, onDeadline: "WAIT" },
      clusters: [
        { name: "", groups: [""], endpoint: "x" },
        { name: "c", groups: ["g"], size: 3 },
      ],
      account: "1",
      region: 5,
      extra: {},
    };
    expect(
      problems(raw)
        .map(({ path }) => path)
        .sort(),
    ).toEqual(
      [
        "account",
        "clusters[0].certificateAuthority",
        "clusters[0].endpoint",
        "clusters[0].groups[0]",
        "clusters[0].name",
        "clusters[1].size",
        "extra",
        "policy.drivers",
        "policy.forse",
        "policy.heartbeatTimeout",
        "policy.margin",
        "policy.onDeadline",
        "region",
      ].sort(),
    );
  });

  const anything = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        policy: fc.oneof(
          fc.dictionary(fc.constantFrom(...Object.keys(DEFAULT_POLICY)), fc.jsonValue()),
          fc.jsonValue(),
        ),
        clusters: fc.array(
          fc.record({ name: fc.jsonValue(), groups: fc.array(fc.jsonValue()) }, { requiredKeys: [] }),
        ),
        account: fc.jsonValue(),
        region: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  );

  it("never throws, and is never invalid without a problem that says what to do", () => {
    fc.assert(
      fc.property(anything, (raw) => {
        const reading = readSettings(raw);
        const found = reading.kind === "invalid" ? reading.problems : undefined;
        expect(found?.length).not.toBe(0);
        expect(found?.every(({ problem }) => /[.?]$/.test(problem)) ?? true).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  const policies = fc.record({
    heartbeatTimeout: fc.integer({ min: 0, max: 8_000 }),
    maxDuration: fc.integer({ min: 0, max: 200_000 }),
    margin: fc.integer({ min: 0, max: 10_000 }),
  });

  it("lets no policy through whose deadline Auto Scaling would not wait for (D6, D13)", () => {
    fc.assert(
      fc.property(policies, (policy) => {
        const { heartbeatTimeout, maxDuration, margin } = policy;
        const good =
          heartbeatTimeout >= 120 &&
          heartbeatTimeout <= 7_200 &&
          margin >= 10 &&
          maxDuration > margin &&
          maxDuration <= Math.min(100 * heartbeatTimeout, 48 * 3_600);
        expect(readSettings({ policy, clusters: [CLUSTER] }).kind).toBe(good ? "valid" : "invalid");
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("clusterOfGroup", () => {
  const settings = valid({ clusters: [CLUSTER, { name: "prod-2", groups: ["workers-c"] }] });

  it("finds the one cluster of a group", () => {
    expect(clusterOfGroup(settings, "workers-b")?.name).toBe("prod-1");
    expect(clusterOfGroup(settings, "workers-c")?.name).toBe("prod-2");
  });

  it("knows no cluster of a group that is not ours (D1)", () => {
    expect(clusterOfGroup(settings, "workers")).toBeUndefined();
    expect(clusterOfGroup(settings, "")).toBeUndefined();
  });
});
