import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Work } from "../../lib/drain/work-order.ts";
import { formatWork, readWork } from "../../lib/drain/work-order.ts";

const WORK: Work = {
  id: "lifecycle-i-0f3a9c1d2b4e5f607-tnv7k0-0a1b2c3d",
  bootID: "boot-1",
  group: "workers-a",
  hook: "ebs-drain",
  deadline: Date.parse("2026-11-02T11:29:00Z"),
  cordoned: true,
  ignore: ["csi-1"],
  handedOver: "pod-uid",
  token: "1f6e2d3c-4b5a-4978-8695-a4b3c2d1e0f9",
};

const works = fc
  .record(
    {
      id: fc.string(),
      bootID: fc.string(),
      group: fc.string(),
      hook: fc.string(),
      // What Date can hold: formatWork writes ISO 8601.
      deadline: fc.integer({ min: -8.64e15, max: 8.64e15 }),
      cordoned: fc.boolean(),
      ignore: fc.array(fc.string()),
      handedOver: fc.string(),
      token: fc.string(),
    },
    { requiredKeys: ["id", "bootID", "group", "deadline", "cordoned", "ignore"], noNullPrototype: true },
  )
  .map((work): Work => work);

describe("the annotation `work`", () => {
  it("comes back as it was written, whatever it says", () => {
    fc.assert(
      fc.property(works, (work) => {
        expect(readWork({ work: formatWork(work), bootId: work.bootID })).toStrictEqual({
          kind: "open",
          work,
        });
      }),
      { numRuns: 1_000 },
    );
  });

  it("is read as `none` where the Node has none", () => {
    expect(readWork({ bootId: "boot-1" })).toEqual({ kind: "none" });
  });

  it("is void for another boot, or another machine under the Node's name", () => {
    expect(readWork({ work: formatWork(WORK), bootId: "boot-2" })).toEqual({ kind: "void", work: WORK });
    fc.assert(
      fc.property(works, fc.string(), (work, bootId) => {
        const expected = bootId === work.bootID ? "open" : "void";
        expect(readWork({ work: formatWork(work), bootId }).kind).toBe(expected);
      }),
    );
  });

  it("is one line of JSON with a deadline that people can read", () => {
    expect(formatWork(WORK)).toBe(
      '{"id":"lifecycle-i-0f3a9c1d2b4e5f607-tnv7k0-0a1b2c3d","bootID":"boot-1","group":"workers-a",' +
        '"hook":"ebs-drain","deadline":"2026-11-02T11:29:00.000Z","cordoned":true,"ignore":["csi-1"],' +
        '"handedOver":"pod-uid","token":"1f6e2d3c-4b5a-4978-8695-a4b3c2d1e0f9"}',
    );
  });

  const parts = JSON.parse(formatWork(WORK)) as Record<string, unknown>;

  it.each<[string, string]>([
    ["nothing", ""],
    ["text", "drained by hand, ask Kim"],
    ["cut off JSON", formatWork(WORK).slice(0, -1)],
    ["null", "null"],
    ["a number", "5"],
    ["a list", JSON.stringify([parts])],
    ["an empty object", "{}"],
    ["no id", JSON.stringify({ ...parts, id: undefined })],
    ["an id that is no text", JSON.stringify({ ...parts, id: 5 })],
    ["no bootID", JSON.stringify({ ...parts, bootID: undefined })],
    ["no deadline", JSON.stringify({ ...parts, deadline: undefined })],
    ["a deadline that is no time", JSON.stringify({ ...parts, deadline: "soon" })],
  ])("is unreadable where it is %s", (_, work) => {
    expect(readWork({ work, bootId: "boot-1" })).toEqual({ kind: "unreadable" });
  });

  it("claims no cordon and ignores no attachment unless it says so plainly", () => {
    const odd = { ...parts, cordoned: "true", ignore: "csi-1", hook: 5, handedOver: null, token: [] };
    const { hook: _hook, handedOver: _handedOver, token: _token, ...rest } = WORK;
    expect(readWork({ work: JSON.stringify(odd), bootId: "boot-1" })).toStrictEqual({
      kind: "open",
      work: { ...rest, cordoned: false, ignore: [] },
    });
    const mixed = { ...parts, ignore: [1, "csi-2", null] };
    expect(readWork({ work: JSON.stringify(mixed), bootId: "boot-1" })).toMatchObject({
      work: { ignore: ["csi-2"] },
    });
  });

  it("never throws, whatever somebody wrote there", () => {
    const written = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .record({
          id: fc.jsonValue(),
          bootID: fc.jsonValue(),
          deadline: fc.jsonValue(),
          ignore: fc.jsonValue(),
        })
        .map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(written, fc.string(), (work, bootId) => {
        expect(["open", "void", "unreadable"]).toContain(readWork({ work, bootId }).kind);
      }),
      { numRuns: 1_000 },
    );
  });
});
