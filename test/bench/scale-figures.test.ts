import { describe, expect, it } from "vitest";
import { countOf, operationsOf, peakPerSecond, requestsOf, withoutSweep } from "./scale-figures.ts";
import { instancesTable, sizesTable } from "./scale-table.ts";

const at = (times: readonly number[], operation = "kubernetes.getNode") =>
  times.map((each) => ({ at: each, operation }));

describe("peakPerSecond", () => {
  it.each<[readonly number[], number]>([
    [[], 0],
    [[5], 1],
    [[0, 999, 1_000], 2],
    [[0, 400, 800, 1_000, 1_300, 5_000], 4],
    [[5_000, 0, 5_100, 5_200], 3],
  ])("of %j is %i: no second holds more, wherever it begins", (times, most) => {
    expect(peakPerSecond(at(times))).toBe(most);
  });
});

describe("requests", () => {
  const all = [...at([1, 2, 3]), ...at([4], "ec2.describeInstance"), ...at([5], "kubernetes.listNodes")];

  it("are told by service and operation, the most first", () => {
    expect(requestsOf(all, "ec2")).toEqual(at([4], "ec2.describeInstance"));
    expect(countOf(all, "kubernetes.getNode")).toBe(3);
    expect(operationsOf(all)).toEqual([
      ["kubernetes.getNode", 3],
      ["ec2.describeInstance", 1],
      ["kubernetes.listNodes", 1],
    ]);
  });

  it("of the sweep are not the drain's", () => {
    expect(withoutSweep(all)).toEqual([...at([1, 2, 3]), ...at([4], "ec2.describeInstance")]);
  });
});

describe("the tables", () => {
  const requests = [
    ...at([0, 10, 20, 5_000]),
    ...at([5], "ec2.describeInstance"),
    ...at([6], "kubernetes.listAttachmentRows"),
  ];
  const run = { requests, afterwards: at([9_000]), seconds: 20.04, nodes: 1_000, attachments: 100_000 };

  it("have a row for each size of the cluster", () => {
    expect(sizesTable([run]).split("\n").at(-1)).toBe("| 1,000 | 100,000 | 20.0 s | 5 | 1 | 1 | 0 | 1 |");
  });

  it("have a row for each number of instances, per drain and per second", () => {
    const row = instancesTable([{ ...run, drained: 2 }])
      .split("\n")
      .at(-1);
    expect(row).toBe("| 2 | 20.0 s | 2.5 | 0.5 | 0.0 | 4 | 1 | 0 |");
  });
});
