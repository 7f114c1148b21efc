import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SimulatedAutoScaling } from "../../lib/sim/auto-scaling.ts";
import { startAwsHttp } from "../../lib/sim/aws-http.ts";
import { RealClock } from "../../lib/sim/clock.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { Random } from "../../lib/sim/random.ts";

/** Plain, unsigned form posts, as a program without an AWS SDK sends them. */
const QUICK = [1, 3] as const;

let ec2: SimulatedEc2;
let autoScaling: SimulatedAutoScaling;
let url: string;
let close: () => Promise<void>;

beforeEach(async () => {
  const clock = new RealClock();
  const delays = {
    pending: QUICK,
    stopping: QUICK,
    shuttingDown: QUICK,
    release: QUICK,
    attach: QUICK,
    detach: QUICK,
  };
  ec2 = new SimulatedEc2({ clock, random: new Random(1), delays });
  autoScaling = new SimulatedAutoScaling({
    clock,
    random: new Random(2),
    ec2,
    delays: { transition: QUICK },
  });
  ({ url, close } = await startAwsHttp({ ec2, autoScaling, pageSize: 5 }));
});
afterEach(() => close());

async function post(
  parameters: Record<string, string>,
  version = "2016-11-15",
): Promise<{ status: number; xml: string }> {
  const answer = await fetch(url, {
    method: "POST",
    body: new URLSearchParams({ Version: version, ...parameters }),
  });
  return { status: answer.status, xml: await answer.text() };
}

const postAutoScaling = (parameters: Record<string, string>): Promise<{ status: number; xml: string }> =>
  post(parameters, "2011-01-01");

function textsOf(xml: string, name: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map((match) => match[1] ?? "");
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(2);
}

async function runningInstance(): Promise<string> {
  const id = ec2.runInstance();
  await until(() => ec2.instance(id)?.state === "running");
  return id;
}

describe("the EC2 API of the simulated service", () => {
  test("a volume is attached, described and detached", async () => {
    const instance = await runningInstance();
    const volume = ec2.createVolume();
    const attach = await post({
      Action: "AttachVolume",
      VolumeId: volume,
      InstanceId: instance,
      Device: "/dev/xvdba",
    });
    expect(textsOf(attach.xml, "status")).toEqual(["attaching"]);
    await until(() => ec2.volumeState(volume, instance) === "attached");
    const described = await post({ Action: "DescribeVolumes", "VolumeId.1": volume });
    expect(textsOf(described.xml, "device")).toEqual(["/dev/xvdba"]);
    expect(textsOf(described.xml, "status")).toEqual(["in-use", "attached"]);
    const detach = await post({ Action: "DetachVolume", VolumeId: volume });
    expect(textsOf(detach.xml, "status")).toEqual(["detaching"]);
    await until(() => ec2.volumeState(volume, instance) === "none");
    expect(await post({ Action: "DetachVolume", VolumeId: volume })).toMatchObject({
      status: 400,
      xml: expect.stringContaining("<Code>IncorrectState</Code>"),
    });
  });

  test("a volume attached elsewhere is refused with the service's code (I3)", async () => {
    const [first, second] = [await runningInstance(), await runningInstance()];
    const volume = ec2.createVolume();
    ec2.attachVolume(volume, first);
    const answer = await post({ Action: "AttachVolume", VolumeId: volume, InstanceId: second });
    expect(answer.status).toBe(400);
    expect(textsOf(answer.xml, "Code")).toEqual(["VolumeInUse"]);
  });

  test("one unknown id fails a describe by ids, and a malformed one is told apart", async () => {
    const instance = await runningInstance();
    const unknown = await post({
      Action: "DescribeInstances",
      "InstanceId.1": instance,
      "InstanceId.2": "i-0bad",
    });
    expect(textsOf(unknown.xml, "Code")).toEqual(["InvalidInstanceID.NotFound"]);
    const malformed = await post({ Action: "DescribeInstances", "InstanceId.1": "node-1" });
    expect(textsOf(malformed.xml, "Code")).toEqual(["InvalidInstanceID.Malformed"]);
  });

  test("pages are cut before the filter: an empty page may have a successor", async () => {
    for (let count = 0; count < 8; count++) ec2.createVolume();
    const last = ec2.createVolume();
    const filter = { Action: "DescribeVolumes", "Filter.1.Name": "volume-id", "Filter.1.Value.1": last };
    const first = await post(filter);
    expect(textsOf(first.xml, "volumeId")).toEqual([]);
    const [token] = textsOf(first.xml, "nextToken");
    const second = await post({ ...filter, NextToken: token ?? "" });
    expect(textsOf(second.xml, "volumeId")).toEqual([last]);
    expect(textsOf(second.xml, "nextToken")).toEqual([]);
  });

  test.each([
    [{ "Filter.1.Name": "instance-state-name", "Filter.1.Value.1": "running" }, 1],
    [{ "Filter.1.Name": "instance-state-name", "Filter.1.Value.1": "stopped" }, 0],
    [{ "Filter.1.Name": "tag:team", "Filter.1.Value.1": "a", "Filter.1.Value.2": "b" }, 1],
    [{ "Filter.1.Name": "tag:team", "Filter.1.Value.1": "c" }, 0],
    [{ "Filter.1.Name": "tag-key", "Filter.1.Value.1": "team" }, 1],
  ])("instances are filtered by %j", async (filter, count) => {
    const id = ec2.runInstance({ tags: { team: "b" } });
    await until(() => ec2.instance(id)?.state === "running");
    const answer = await post({ Action: "DescribeInstances", ...filter });
    expect(textsOf(answer.xml, "instanceId")).toHaveLength(count);
  });

  test("what the real service does not take is refused, not ignored", async () => {
    const refused = await Promise.all([
      post({ Action: "DescribeInstances", "Filter.1.Name": "colour", "Filter.1.Value.1": "x" }),
      post({ Action: "DescribeInstances", MaxResults: "4" }),
      post({ Action: "DescribeInstances", "InstanceId.1": "i-0", MaxResults: "10" }),
      post({ Action: "DescribeInstances", NextToken: "mine" }),
      post({ Action: "AttachVolume", VolumeId: "vol-0" }),
      post({ Action: "BuyInstances" }),
    ]);
    expect(refused.map(({ xml }) => textsOf(xml, "Code")[0])).toEqual([
      "InvalidParameterValue",
      "InvalidParameterValue",
      "InvalidParameterCombination",
      "InvalidParameterValue",
      "MissingParameter",
      "InvalidAction",
    ]);
  });

  test("instances are stopped, hibernated, started and terminated", async () => {
    const id = await runningInstance();
    const stop = await post({ Action: "StopInstances", "InstanceId.1": id, Hibernate: "true" });
    expect(textsOf(stop.xml, "name")).toEqual(["stopping", "running"]);
    await until(() => ec2.instance(id)?.state === "stopped");
    expect(ec2.instance(id)?.stateReason?.code).toBe("Client.UserInitiatedHibernate");
    await post({ Action: "StartInstances", "InstanceId.1": id });
    await until(() => ec2.instance(id)?.state === "running");
    await post({ Action: "TerminateInstances", "InstanceId.1": id });
    await until(() => ec2.instance(id)?.state === "terminated");
    expect((await post({ Action: "TerminateInstances", "InstanceId.1": "i-0bad" })).status).toBe(400);
  });

  test("text is escaped", async () => {
    ec2.createVolume({ name: `<a & "b">` });
    const answer = await post({ Action: "DescribeVolumes" });
    expect(answer.xml).toContain(`<value>&lt;a &amp; "b"&gt;</value>`);
  });
});

describe("the Auto Scaling API of the simulated service", () => {
  const HOOK = { name: "ebs-drain", heartbeatTimeout: 300, defaultResult: "CONTINUE" } as const;

  test("the desired capacity launches, a termination waits in the hook, an unsigned caller completes", async () => {
    autoScaling.createGroup({ name: "workers-a", hooks: [HOOK] });
    await postAutoScaling({
      Action: "SetDesiredCapacity",
      AutoScalingGroupName: "workers-a",
      DesiredCapacity: "1",
    });
    await until(() => autoScaling.describeMembers()[0]?.lifecycleState === "InService");
    const instance = autoScaling.describeMembers()[0]?.instance ?? "";
    await postAutoScaling({
      Action: "TerminateInstanceInAutoScalingGroup",
      InstanceId: instance,
      ShouldDecrementDesiredCapacity: "false",
    });
    await until(() => autoScaling.member(instance)?.lifecycleState === "Terminating:Wait");
    const answer = await postAutoScaling({
      Action: "CompleteLifecycleAction",
      AutoScalingGroupName: "workers-a",
      LifecycleHookName: "ebs-drain",
      InstanceId: instance,
      LifecycleActionResult: "CONTINUE",
    });
    expect(answer).toMatchObject({
      status: 200,
      xml: expect.stringContaining("CompleteLifecycleActionResult"),
    });
    expect(autoScaling.getHistory().at(-1)).toMatchObject({ by: "unsigned", outcome: "accepted" });
    expect(autoScaling.describeGroups()[0]?.desired).toBe(1);
  });

  test("a hook is put, described, put again with other settings, and deleted once", async () => {
    autoScaling.createGroup({ name: "workers-a", hooks: [] });
    const name = { AutoScalingGroupName: "workers-a", LifecycleHookName: "ebs-drain" };
    const transition = { LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING" };
    await postAutoScaling({ Action: "PutLifecycleHook", ...name, ...transition });
    const first = await postAutoScaling({ Action: "DescribeLifecycleHooks", ...name });
    const settings = { HeartbeatTimeout: "300", DefaultResult: "CONTINUE" };
    await postAutoScaling({ Action: "PutLifecycleHook", ...name, ...transition, ...settings });
    const hooks = autoScaling.describeGroups()[0]?.hooks;
    const deleted = await postAutoScaling({ Action: "DeleteLifecycleHook", ...name });
    const again = await postAutoScaling({ Action: "DeleteLifecycleHook", ...name });

    expect([textsOf(first.xml, "HeartbeatTimeout"), textsOf(first.xml, "DefaultResult")]).toEqual([
      ["3600"],
      ["ABANDON"],
    ]);
    expect(hooks).toEqual([HOOK]);
    expect([deleted.status, again.status, textsOf(again.xml, "Code")[0]]).toEqual([
      200,
      400,
      "ValidationError",
    ]);
    expect(autoScaling.describeGroups()[0]?.hooks).toEqual([]);
  });

  test("a call that names neither token nor instance, and a result that is none, are refused", async () => {
    autoScaling.createGroup({ name: "workers-a", hooks: [HOOK] });
    const name = { AutoScalingGroupName: "workers-a", LifecycleHookName: "ebs-drain" };
    const refused = await Promise.all([
      postAutoScaling({ Action: "RecordLifecycleActionHeartbeat", ...name }),
      postAutoScaling({
        Action: "CompleteLifecycleAction",
        ...name,
        InstanceId: "i-1",
        LifecycleActionResult: "MAYBE",
      }),
      postAutoScaling({ Action: "CompleteLifecycleAction", LifecycleHookName: "x", InstanceId: "i-1" }),
    ]);
    expect(refused.map(({ status, xml }) => [status, textsOf(xml, "Code")[0]])).toEqual(
      Array.from({ length: 3 }, () => [400, "ValidationError"]),
    );
  });
});
