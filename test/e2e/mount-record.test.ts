import { describe, expect, it } from "vitest";
import { MountRecord } from "./mount-record.ts";

describe("the mount record", () => {
  it("reports a volume that is mounted on a second machine before the first has unmounted it", () => {
    const record = new MountRecord();
    record.mounted("vol-1", "node-a", "i-a");
    record.mounted("vol-1", "node-b", "i-b");
    record.unmounted("vol-1", "i-a");
    expect(record.doubleMounts()).toMatchObject([[{ node: "node-a" }, { node: "node-b" }]]);
  });

  it("takes an unmount, or the end of the machine's power, for the end of a mount", () => {
    const record = new MountRecord();
    record.mounted("vol-1", "node-a", "i-a");
    record.unmounted("vol-1", "i-a");
    record.mounted("vol-1", "node-b", "i-b");
    record.poweredOff("i-b");
    record.mounted("vol-1", "node-c", "i-c");
    expect(record.doubleMounts()).toEqual([]);
    expect(record.of("vol-1").map(({ endedBy }) => endedBy)).toEqual(["unmount", "power off", undefined]);
  });

  it("tells two machines apart that have one name", () => {
    const record = new MountRecord();
    record.mounted("vol-1", "node-a", "i-before");
    record.mounted("vol-1", "node-a", "i-after");
    expect(record.doubleMounts()).toHaveLength(1);
  });
});
