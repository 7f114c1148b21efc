import { beforeEach, describe, expect, test } from "vitest";
import { HOUR, MINUTE } from "../../lib/drain/time.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { Random } from "../../lib/sim/random.ts";
import { type Ec2World, ec2World, START, faultOf } from "./ec2-world.ts";

let clock: Ec2World["clock"];
let ec2: Ec2World["ec2"];
let pass: Ec2World["pass"];
let runningInstance: Ec2World["runningInstance"];

beforeEach(() => {
  ({ clock, ec2, pass, runningInstance } = ec2World());
});

describe("instances of simulated EC2", () => {
  test("an instance goes from pending to running, with LaunchTime in whole seconds and its root volume attached", async () => {
    const id = ec2.runInstance({ group: "workers-a" });
    expect(ec2.instance(id)).toMatchObject({
      state: "pending",
      launchTime: START - 700,
      privateDnsName: "ip-10-0-0-1.eu-west-1.compute.internal",
      tags: { "aws:autoscaling:groupName": "workers-a" },
    });
    await pass(MINUTE);
    expect(ec2.instance(id)?.state).toBe("running");
    expect(ec2.describeVolumes()).toMatchObject([
      { attachment: { instance: id, device: "/dev/xvda", state: "attached" }, tags: {} },
    ]);
  });

  test("a terminated instance loses its DNS name at once, stays visible for an hour, and is then not found", async () => {
    const id = await runningInstance();
    ec2.terminateInstance(id);
    expect(ec2.instance(id)).toMatchObject({
      state: "shutting-down",
      privateDnsName: "",
      stateReason: { code: "Client.UserInitiatedShutdown" },
    });
    await pass(2 * MINUTE);
    expect(ec2.instance(id)?.state).toBe("terminated");
    expect(ec2.instance(id)?.tags).toMatchObject({ "aws:autoscaling:groupName": "workers-a" });
    await pass(HOUR);
    expect(ec2.describeInstances()).toEqual([]);
    expect(faultOf(() => ec2.terminateInstance(id))).toBe("InvalidInstanceID.NotFound");
  });

  test("stop and start keep id and address and give a new LaunchTime: another machine", async () => {
    const id = await runningInstance();
    const before = ec2.instance(id);
    ec2.stopInstance(id);
    expect(ec2.instance(id)?.state).toBe("stopping");
    await pass(MINUTE);
    expect(ec2.instance(id)?.state).toBe("stopped");
    ec2.startInstance(id);
    await pass(MINUTE);
    expect(ec2.instance(id)).toMatchObject({ state: "running", privateDnsName: before?.privateDnsName });
    expect(ec2.instance(id)?.launchTime).toBeGreaterThan(before?.launchTime ?? 0);
    expect(ec2.instance(id)).not.toHaveProperty("stateReason");
  });

  test("an address, and with it the DNS name, can be used again only after its instance is terminated", async () => {
    const first = ec2.runInstance({ privateAddress: "10.0.7.7" });
    await pass(MINUTE);
    expect(faultOf(() => ec2.runInstance({ privateAddress: "10.0.7.7" }))).toBe("InvalidIPAddress.InUse");
    ec2.terminateInstance(first);
    await pass(2 * MINUTE);
    const second = ec2.runInstance({ privateAddress: "10.0.7.7" });
    expect(ec2.instance(second)?.privateDnsName).toBe("ip-10-0-7-7.eu-west-1.compute.internal");
  });

  test("states that cannot be left that way are refused", async () => {
    const id = ec2.runInstance();
    expect(faultOf(() => ec2.stopInstance(id))).toBe("IncorrectInstanceState");
    await pass(MINUTE);
    ec2.stopInstance(id);
    expect(faultOf(() => ec2.startInstance(id))).toBe("IncorrectInstanceState");
    ec2.terminateInstance(id);
    await pass(2 * MINUTE);
    expect(ec2.instance(id)?.state).toBe("terminated");
  });

  test("a spot notice comes two minutes before EC2 acts, with the spot reason", async () => {
    const id = await runningInstance();
    const notices: unknown[] = [];
    ec2.onSpotNotice((notice) => notices.push(notice));
    ec2.interruptSpot(id);
    await pass(2 * MINUTE - 1);
    expect(notices).toEqual([{ instance: id, action: "terminate", zone: "eu-west-1a" }]);
    expect(ec2.instance(id)?.state).toBe("running");
    await pass(1);
    expect(ec2.instance(id)).toMatchObject({
      state: "shutting-down",
      stateReason: { code: "Server.SpotInstanceTermination" },
    });
  });

  test("every change of state is told with the machine's LaunchTime", async () => {
    const states: string[] = [];
    ec2.onStateChange((instance, state, launchTime) => states.push(`${instance} ${state} ${launchTime}`));
    const id = await runningInstance();
    ec2.terminateInstance(id);
    await pass(2 * MINUTE);
    const launchTime = START - 700;
    expect(states).toEqual(
      ["pending", "running", "shutting-down", "terminated"].map((state) => `${id} ${state} ${launchTime}`),
    );
  });

  test("describe calls may lag: a new instance is not there yet, a dead one still runs", async () => {
    const lagging = new SimulatedEc2({ clock, random: new Random(1), describeLag: [3_000, 3_000] });
    const id = lagging.runInstance();
    expect(lagging.describeInstances()).toEqual([]);
    await pass(MINUTE);
    lagging.terminateInstance(id);
    await pass(2_999);
    expect(lagging.describeInstances()[0]?.state).toBe("running");
    await pass(1);
    expect(lagging.describeInstances()[0]?.state).not.toBe("running");
  });
});
