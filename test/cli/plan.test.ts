import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { plan } from "../../lib/cli/plan.ts";
import { replay } from "../../lib/cli/replay.ts";
import { told } from "../../lib/cli/running.ts";
import { decide } from "../../lib/drain/decide.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import { PortError } from "../../lib/engine/errors.ts";
import { decisionLine } from "../../lib/telemetry/decision-line.ts";
import type { Scene } from "../../lib/sim/scenario.ts";
import { threePods } from "../../lib/sim/scenes.ts";
import { World } from "../../lib/sim/world.ts";
import { attachment, lifecycleTask, observation, pod, read, volumes } from "../drain/observation-builder.ts";
import { KeptTerminal } from "./terminal.ts";
import { awsInspectionOf, operatorOf, runIn } from "./world-operator.ts";

let world: World;
let scene: Scene;
beforeAll(async () => {
  world = new World({ seed: 7 });
  scene = await threePods(world, { group: "workers-a" });
});

const node = (): string => scene.node ?? "";

describe("plan", () => {
  it("tells what a drain would do now, with the rules, and changes nothing (C21, D18)", async () => {
    const before = [world.clusterPort.changes.length, world.autoScaling.getHistory().length];
    const { code, out, errors } = await runIn(world, (terminal) =>
      plan(node(), { output: "table" }, operatorOf(world), terminal),
    );
    expect([code, errors]).toEqual([0, ""]);
    for (const words of [
      `${node()} (${scene.instance}): it is in service`,
      "evicting (D7, D9)",
      "1. cordon the Node",
      "2. evict default/db-0",
      "VOLUME",
      "EC2 says attached",
      "waits for pod default/queue-0",
    ]) {
      expect(out).toContain(words);
    }
    expect([world.clusterPort.changes.length, world.autoScaling.getHistory().length]).toEqual(before);
  });

  it("finds the Node of an instance id, and answers machines in JSON and YAML", async () => {
    const ask = (output: "json" | "yaml") =>
      runIn(world, (terminal) => plan(scene.instance, { output }, operatorOf(world), terminal));
    const json = JSON.parse((await ask("json")).out);
    expect(json).toMatchObject({
      task: { kind: "manual", node: { name: node() } },
      decision: { rules: ["D7", "D9"] },
    });
    expect(parse((await ask("yaml")).out)).toMatchObject({
      decision: json.decision.phase === "evicting" ? {} : null,
    });
  });

  it("says what it cannot verify without AWS credentials", async () => {
    const operator = operatorOf(world, { aws: { kind: "none", why: "no AWS credentials were found" } });
    const { code, errors } = await runIn(world, (terminal) =>
      plan(node(), { output: "table" }, operator, terminal),
    );
    expect(code).toBe(0);
    expect(errors).toContain("AWS is not asked: no AWS credentials were found");
    expect(errors).toContain("a volume that EC2 still holds");
  });

  it("names the Node that was meant where there is none of that name", async () => {
    const { code, errors } = await runIn(world, (terminal) =>
      plan(`${node()}x`, { output: "table" }, operatorOf(world), terminal),
    );
    expect(code).toBe(2);
    expect(errors).toContain(`did you mean ${node()}?`);
  });

  it("tells wrong credentials from a wrong account, and what to do about either (C35)", async () => {
    const withEc2 = (describeInstance: () => Promise<undefined>) =>
      operatorOf(world, {
        aws: {
          kind: "granted",
          region: "us-east-1",
          inspection: awsInspectionOf(),
          ...world.aws,
          ec2: { ...world.aws.ec2, describeInstance },
        },
      });
    const refused = new PortError(
      "unauthenticated",
      "ec2.describeInstance",
      "ec2.describeInstance: ExpiredToken",
    );
    const expired = await runIn(world, (terminal) =>
      plan(
        node(),
        { output: "table" },
        withEc2(() => Promise.reject(refused)),
        terminal,
      ),
    );
    expect(expired.errors).toContain("ExpiredToken. With --kubernetes-only AWS is not asked");
    const elsewhere = await runIn(world, (terminal) =>
      plan(
        node(),
        { output: "table" },
        withEc2(async () => undefined),
        terminal,
      ),
    );
    expect(elsewhere.errors).toContain(`EC2 in us-east-1 does not show ${scene.instance}`);
    expect([expired.code, elsewhere.code]).toEqual([2, 2]);
  });

  it("decides as the deployed drain would for a machine that waits in a lifecycle hook", async () => {
    const held = new World({ seed: 8 });
    const at = await threePods(held, { group: "workers-a" });
    held.autoScaling.scaleIn(at.instance);
    await held.clock.advance(held.clock.now() + 30_000);
    const { out } = await runIn(held, (terminal) =>
      plan(at.node ?? "", { output: "wide" }, operatorOf(held), terminal),
    );
    expect(out).toContain("it waits in a lifecycle hook");
    expect(out).toContain("beat the lifecycle action (D6)");
    expect(out).toContain("ebs-drain.dev~1work");
  });
});

describe("plan --file", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "replay-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const seen = observation({
    task: lifecycleTask(),
    pods: read([pod("web")]),
    attachments: read([attachment("vol-1")]),
    volumes: volumes("vol-1"),
  });
  const decision = decide(seen, DEFAULT_POLICY);
  const line = JSON.parse(JSON.stringify(decisionLine(seen, decision, true)));

  async function replayed(content: string) {
    const file = path.join(folder, "log");
    await writeFile(file, content);
    const terminal = new KeptTerminal();
    const code = await told(() => replay(file, DEFAULT_POLICY, { output: "table" }, terminal), terminal);
    return { code, out: terminal.printed.join("\n"), errors: terminal.complaints.join("\n") };
  }

  it.each([
    ["an observation", JSON.stringify(seen)],
    ["a line of the decision log", JSON.stringify(line)],
    ["an array of lines", JSON.stringify([line])],
    ["lines, short ones among them", `${JSON.stringify({ message: "look" })}\n${JSON.stringify(line)}\n`],
    ["what CloudWatch exports", JSON.stringify([{ "@message": JSON.stringify(line) }])],
    ["lines with a time before them", `2026-11-02T09:30:00Z ${JSON.stringify(line)}\n`],
  ])("decides again from %s", async (_what, content) => {
    const { code, out } = await replayed(content);
    expect(code).toBe(0);
    expect(out).toContain(`${decision.phase} (${decision.rules.join(", ")})`);
  });

  it("ends with 1 where the log has another decision, and says why that can be", async () => {
    const { code, out } = await replayed(
      JSON.stringify({ ...line, decision: { ...line.decision, phase: "ending" } }),
    );
    expect(code).toBe(1);
    expect(out).toContain("THE LOG HAS ANOTHER DECISION");
  });

  it.each([
    ["no JSON", "hello", "line 1 is not JSON"],
    ["no observation", JSON.stringify({ message: "look" }), "holds no observation"],
    ["a damaged observation", JSON.stringify({ observationGzip: "AAAA" }), "a damaged observation"],
    ["another object as observation", JSON.stringify({ observation: { at: 1 } }), "has no at, task"],
  ])("refuses %s", async (_what, content, words) => {
    const { code, errors } = await replayed(content);
    expect(code).toBe(2);
    expect(errors).toContain(words);
  });

  it("refuses a file that is not there", async () => {
    const terminal = new KeptTerminal();
    const nowhere = path.join(folder, "nowhere");
    expect(await told(() => replay(nowhere, DEFAULT_POLICY, { output: "table" }, terminal), terminal)).toBe(
      2,
    );
    expect(terminal.complaints.join()).toContain("cannot read");
  });
});
