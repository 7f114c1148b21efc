import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runWithDrain } from "../../lib/cli/run.ts";
import { replayOf } from "../../lib/cli/recorded-event.ts";
import type { SimulateOptions } from "../../lib/cli/simulate.ts";
import { simulate, simulateScenario } from "../../lib/cli/simulate.ts";
import { decide } from "../../lib/drain/decide.ts";
import type { Observation } from "../../lib/drain/observation.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import { SECOND } from "../../lib/drain/time.ts";
import type { Scenario } from "../../lib/sim/scenario.ts";
import { SCENARIOS, scenarioOf } from "../../lib/sim/scenarios.ts";
import { GROUP, SEED } from "./played.ts";
import { KeptTerminal } from "./terminal.ts";

const EVENTS = path.join(import.meta.dirname, "..", "fixtures", "events");
const ENTRY = path.join(import.meta.dirname, "..", "..", "bin", "ebs-drain.ts");

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "simulate-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function run(
  options: Partial<SimulateOptions>,
  terminal = new KeptTerminal(),
): Promise<{ readonly code: number; readonly out: string; readonly errors: string }> {
  const code = await simulate({ seed: SEED, ...options }, terminal);
  return { code, out: terminal.printed.join("\n"), errors: terminal.complaints.join("\n") };
}

async function eventFile(content: unknown): Promise<string> {
  const file = path.join(folder, "event.json");
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

async function fixture(name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(path.join(EVENTS, `${name}.json`), "utf8")) as Record<string, unknown>;
}

describe("simulate", () => {
  it("tells the default scenario beside the world without ebs-drain, and what it came to", async () => {
    const { code, out, errors } = await run({});
    expect([code, errors]).toEqual([0, ""]);
    for (const words of [
      "scale-in: Auto Scaling takes a node out of its group",
      "with ebs-drain",
      "with a drainer that looks at pods only",
      "ebs-drain completes the action:",
      "the drainer completes the action:",
      "db complete again",
      "EC2 reads in all",
    ]) {
      expect(out).toContain(words);
    }
  });

  it("shows the six minutes with its default seed", async () => {
    const { out } = await run({});
    expect(out.replaceAll(/\s+/g, " ")).toContain("after its 6 minutes Kubernetes");
    expect(out).toMatch(/volumes still attached in that moment +none +db-\d/);
  });

  it("uses colour on a terminal, without moving a column", async () => {
    const terminal = new KeptTerminal(true);
    await run({}, terminal);
    const plain = await run({});
    const coloured = terminal.printed.join("\n");
    expect(coloured).toContain("\u001B[");
    const stripped = terminal.printed.map((line) => stripVTControlCharacters(line).trimEnd());
    expect(stripped.join("\n")).toBe(plain.out);
  });

  it("tells the same story again for the same seed, and another one for another", async () => {
    const first = await run({});
    expect((await run({})).out).toBe(first.out);
    expect((await run({ seed: SEED + 1 })).out).not.toBe(first.out);
  });

  it("lists every scenario with its title", async () => {
    const { code, out } = await run({ list: true });
    expect(code).toBe(0);
    expect(out.split("\n")).toHaveLength(SCENARIOS.length);
    for (const { name, title } of SCENARIOS) expect(out).toMatch(new RegExp(`^${name} +${title}$`, "m"));
  });

  it("refuses an unknown scenario with the names that there are, and the nearest one", async () => {
    const { code, errors } = await run({ scenario: "scale-inn" });
    expect(code).toBe(2);
    expect(errors).toContain('no scenario "scale-inn"; did you mean scale-in?');
    for (const { name } of SCENARIOS) expect(errors).toContain(name);
  });
});

describe("simulate --log", () => {
  it("prints the functions' log as JSON lines, from which every logged decision replays", async () => {
    const { code, out } = await run({ log: true });
    expect(code).toBe(0);
    const lines = out.split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
    const looks = lines.filter(({ message }) => message === "look");
    expect(looks.length).toBeGreaterThan(5);
    const whole = looks.filter(({ observation }) => observation !== undefined);
    expect(whole.length).toBeGreaterThan(3);
    for (const { observation, decision } of whole) {
      expect(decide(observation as Observation, DEFAULT_POLICY)).toEqual(decision);
    }
  });
});

describe("simulate --json", () => {
  it("prints both timelines and figures, in seconds from the event", async () => {
    const { code, out } = await run({ json: true });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      scenario: "scale-in",
      seed: SEED,
      withDrain: {
        facts: { action: { result: "CONTINUE", by: "drain", stillAttached: [] } },
        timeline: expect.arrayContaining([expect.objectContaining({ weight: "good" })]),
      },
      podsOnly: { facts: { action: { by: "pod drainer" } } },
      violations: [],
    });
  });
});

describe("simulate --event", () => {
  it("builds the world around the event: its instance, group and token, at its time (S1)", async () => {
    const event = await fixture("lifecycle-terminate");
    const detail = { ...(event["detail"] as object), AutoScalingGroupName: "storage-b" };
    const elsewhere = { ...event, account: "222233334444", region: "us-west-2", detail };
    const replay = replayOf(elsewhere);
    if (replay === undefined) throw new Error("nothing to replay");
    const { scenario, subject, recorded } = replay;
    const { world, embedded, witness, zero } = await runWithDrain(scenario, {
      seed: SEED,
      subject,
      recorded,
    });
    const started = embedded?.dispatched.filter(({ event: delivered }) => delivered === elsewhere);
    expect(started).toMatchObject([
      {
        result: {
          kind: "started",
          task: {
            group: "storage-b",
            instance: "i-0f3a9c1d2b4e5f607",
            token: "1f6e2d3c-4b5a-4978-8695-a4b3c2d1e0f9",
          },
        },
      },
    ]);
    expect(world.autoScaling.getHistory().findLast(({ kind }) => kind === "complete")).toMatchObject({
      by: "drain",
      outcome: "accepted",
      named: "token",
      token: "1f6e2d3c-4b5a-4978-8695-a4b3c2d1e0f9",
      group: "storage-b",
    });
    expect(witness.actionEnds).toMatchObject([{ result: "CONTINUE", attached: [] }]);
    expect(Math.abs(zero - Date.parse("2026-11-02T09:30:00Z"))).toBeLessThan(10 * SECOND);
  });

  it.each([
    ["lifecycle-terminate", "scale-in"],
    ["lifecycle-terminate-old-shape", "scale-in"],
    ["lifecycle-terminate-to-warm-pool", "warm-pool"],
    ["lifecycle-terminate-replace-root-volume", "replace-root-volume"],
    ["spot-interruption", "spot"],
    ["state-change-shutting-down", "console-terminate"],
    ["state-change-terminated", "console-terminate"],
    ["state-change-stopping", "console-stop"],
    ["state-change-stopped", "console-stop"],
  ])("replays %s as %s", async (name, scenario) => {
    const { code, out, errors } = await run({ event: path.join(EVENTS, `${name}.json`) });
    expect([code, errors]).toEqual([0, ""]);
    expect(out).toContain(`${scenario}: `);
    expect(out).toContain("i-0f3a9c1d2b4e5f607 of workers-a");
  });

  it.each([
    ["lifecycle-terminate-foreign-hook", "not ours: hook Terminate-LC-Hook is not ours (ebs-drain)"],
    ["lifecycle-launch", "ignored: a launch: nothing to drain"],
    ["rebalance-recommendation", "ignored: not acted on"],
    ["health-scheduled-change", "ignored: not acted on"],
    ["direct-test-notification", "ignored: a test notification of Auto Scaling"],
    ["state-change-running", "ignored: instance running: nothing to drain"],
    ["schedule-sweep", "swept: 3 Nodes, 3 instances, 0 executions running; started 0, undone 0"],
  ])("says of %s what would happen, and why (C12, C22, S4, S6)", async (name, words) => {
    const { code, out, errors } = await run({ event: path.join(EVENTS, `${name}.json`) });
    expect([code, errors]).toEqual([0, ""]);
    expect(out).toContain(words);
  });

  it("knows what to do with every kind of event there is a fixture of", async () => {
    const files = await readdir(EVENTS);
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const event = JSON.parse(await readFile(path.join(EVENTS, file), "utf8")) as unknown;
      expect(() => replayOf(event)).not.toThrow();
    }
  });

  it("says which field of a broken event is broken, and exits with 2 (S6)", async () => {
    const event = await fixture("lifecycle-terminate");
    const detail = { ...(event["detail"] as object), EC2InstanceId: "web-1" };
    const { code, out, errors } = await run({ event: await eventFile({ ...event, detail }) });
    expect([code, out]).toEqual([2, ""]);
    expect(errors).toContain("broken event: detail.EC2InstanceId: expected an instance id");
    expect(errors).toContain('"web-1"');
  });

  it("says that a file is missing, or no JSON", async () => {
    const missing = await run({ event: path.join(folder, "nowhere.json") });
    expect(missing.code).toBe(2);
    expect(missing.errors).toMatch(/^cannot read .*nowhere\.json: ENOENT/);
    const broken = await run({ event: await eventFile("{") });
    expect(broken.code).toBe(2);
    expect(broken.errors).toMatch(/event\.json is not JSON: /);
  });
});

describe("a run that breaks the promise", () => {
  it("exits with 1 and says what happened (I1)", async () => {
    const scaleIn = scenarioOf("scale-in");
    if (scaleIn === undefined) throw new Error("no scale-in");
    // Somebody with ebs-drain's name completes while the volumes are attached.
    const hasty: Scenario = {
      ...scaleIn,
      begin: (world, scene, subject) => {
        scaleIn.begin(world, scene, subject);
        world.clock.after(7 * SECOND, () => {
          const [action] = world.autoScaling.activeActions(scene.instance);
          if (action === undefined) throw new Error("no action is open");
          const { group, hook, token } = action;
          world.autoScaling.complete({ group, hook: hook.name, token }, "CONTINUE", "drain");
        });
      },
    };
    const terminal = new KeptTerminal();
    const of = { seed: SEED, subject: { group: GROUP } };
    expect(await simulateScenario(hasty, of, { seed: SEED }, terminal)).toBe(1);
    expect(terminal.complaints[0]).toContain("broke its promise");
    expect(terminal.complaints.join("\n")).toMatch(
      /I1: CONTINUE by drain for i-[0-9a-f]+ while it holds vol-/,
    );
    expect(terminal.printed.join("\n").replaceAll(/[ \n│]+/g, " ")).toContain("still attached");
  });
});

describe("the command line", () => {
  const node = promisify(execFile);
  const command = (...args: readonly string[]) =>
    node(process.execPath, [ENTRY, "simulate", ...args], { env: { ...process.env, FORCE_COLOR: "1" } });

  it("replays an event in a process of its own", async () => {
    const file = path.join(EVENTS, "lifecycle-terminate.json");
    const { stdout, stderr } = await command("--event", file, "--seed", "3");
    expect(stderr).toBe("");
    expect(stdout).toContain("; seed 3");
    expect(stdout).toContain("ebs-drain completes the action:");
    expect(stdout).not.toContain("\u001B");
  });

  it.each([
    [["--seed", "many"], 1, "Give a whole number from 0."],
    [["--scenario", "spot", "--event", "x.json"], 1, "cannot be used with option"],
    [["--scenario", "nothing"], 2, 'no scenario "nothing"'],
    [["--event", "nowhere.json"], 2, "cannot read nowhere.json"],
  ] as const)("refuses %j with exit code %i", async (args, code, words) => {
    await expect(command(...args)).rejects.toMatchObject({ code, stderr: expect.stringContaining(words) });
  });

  it("explains itself", async () => {
    const { stdout } = await command("--help");
    for (const option of ["--scenario", "--event", "--list", "--seed", "--log", "--json", "--html"]) {
      expect(stdout).toContain(option);
    }
  });
});
