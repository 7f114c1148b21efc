import { describe, expect, it } from "vitest";
import { decide } from "../../lib/drain/decide.ts";
import type { Memory } from "../../lib/drain/memory.ts";
import { needsEc2Volumes } from "../../lib/drain/needs.ts";
import { UNREAD } from "../../lib/drain/observation.ts";
import { remember } from "../../lib/drain/remember.ts";
import { SECOND } from "../../lib/drain/time.ts";
import { NOW, instance, memory, observation, policy, read } from "./observation-builder.ts";

const POLICY = policy();

/** Looks a second apart that read nothing of EC2 but the instance; those after which EC2's volumes were due. */
function dueAfter(before: Memory, seen: Parameters<typeof observation>[0]): readonly number[] {
  let current = before;
  return [1, 2, 3, 4, 5].filter((look) => {
    const at = NOW + look * SECOND;
    const looked = observation({
      ...seen,
      at,
      ec2At: at,
      memory: current,
      ec2Volumes: UNREAD,
      calls: { "ec2.describeInstance": 1 },
    });
    const isDue = needsEc2Volumes(looked, POLICY);
    current = remember(looked, decide(looked, POLICY), [], POLICY).memory;
    return isDue;
  });
}

describe("EC2's volumes", () => {
  it("are not put off by asking at every look for a machine that is down", () => {
    const down = memory({ machineDown: true, ec2Reads: 20, ec2NotBefore: NOW + 2 * SECOND });
    expect(dueAfter(down, { instance: read(instance({ state: "terminated" })) })).toEqual([2, 3, 4, 5]);
  });

  it("are not put off by asking at every look for a machine that EC2 does not show", () => {
    const unseen = memory({ machineSeen: false, ec2Reads: 20, ec2NotBefore: NOW + 2 * SECOND });
    expect(dueAfter(unseen, { instance: read(null) })).toEqual([2, 3, 4, 5]);
  });

  it("wait after a paced question about a machine that is up (I12)", () => {
    const up = memory({ ec2Reads: 20, ec2NotBefore: NOW + 2 * SECOND });
    expect(dueAfter(up, { instance: read(instance()) })).toEqual([]);
  });
});
