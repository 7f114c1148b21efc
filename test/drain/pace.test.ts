import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../../lib/drain/decide.ts";
import type { Action, Phase } from "../../lib/drain/decision.ts";
import { ownDeadline } from "../../lib/drain/deadline.ts";
import { type Memory, initialMemory } from "../../lib/drain/memory.ts";
import { needsBeat, pace } from "../../lib/drain/pace.ts";
import type { Policy } from "../../lib/drain/policy.ts";
import { readPolicy } from "../../lib/drain/policy-settings.ts";
import { remember } from "../../lib/drain/remember.ts";
import type { ActionResult } from "../../lib/drain/results.ts";
import { understand } from "../../lib/drain/situation.ts";
import type { Task } from "../../lib/drain/task.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import { HOUR, type Instant, MINUTE, SECOND } from "../../lib/drain/time.ts";
import {
  BOOT,
  type Differs,
  NOW,
  deadMachine,
  failed,
  goneTask,
  lifecycleTask,
  node,
  observation,
  pod,
  policy,
  read,
  spotTask,
  untouchedNode,
  work,
} from "./observation-builder.ts";

/** Seconds to the next look of this phase; a heartbeat is far away. */
function paceOf(phase: Phase, differs: Differs = {}, choices: Partial<Policy> = {}): number {
  return pace(
    understand(
      observation({ ...differs, memory: { beat: { at: NOW, ok: true }, ...differs.memory } }),
      policy(choices),
    ),
    phase,
  );
}

const quietFor = (seconds: number): Partial<Memory> => ({
  progress: { mark: "", at: NOW - seconds * SECOND },
});

describe("the pace of looks", () => {
  it.each<[Phase, number, number]>([
    ["detaching", 0, 1],
    ["confirming", 0, 1],
    ["evicting", 0, 2],
    ["locating", 0, 5],
    ["evicting", 100, 10],
    ["evicting", 299, 29],
    ["detaching", 3_600, 30],
  ])("%s, with nothing moving for %i s: %i s", (phase, quiet, seconds) => {
    expect(paceOf(phase, { memory: quietFor(quiet) })).toBe(seconds);
  });

  it.each([
    [0, 1],
    [1, 2],
    [3, 8],
    [4, 16],
    [5, 30],
    [50, 30],
  ])("backs off while Kubernetes cannot be read: after %i looks %i s (D17)", (blindLooks, seconds) => {
    expect(paceOf("blind", { memory: { blindLooks } })).toBe(seconds);
  });

  it("backs off in the same way while the API asks to slow down with the evictions (D7)", () => {
    expect(paceOf("evicting", { memory: { blindLooks: 4 } })).toBe(16);
  });

  it("never passes the deadline, which gets its look at once", () => {
    const nearly = { task: lifecycleTask({ at: NOW - 2 * HOUR + MINUTE + 3_400 }), memory: quietFor(600) };
    expect(paceOf("evicting", nearly)).toBe(4);
  });

  it("never passes the next beat, and beats rather a second early than late", () => {
    const beaten = (secondsAgo: number): Partial<Memory> => ({
      ...quietFor(600),
      beat: { at: NOW - secondsAgo * SECOND, ok: true },
    });
    expect(paceOf("evicting", { memory: beaten(130) })).toBe(20);
    const situation = understand(observation({ memory: beaten(149.5) }), policy());
    expect(needsBeat(situation)).toBe(true);
  });

  it("is at most a quarter of the heartbeat time-out (D6)", () => {
    expect(paceOf("evicting", { memory: quietFor(600) }, { heartbeatTimeout: 60 })).toBe(15);
    const bare = read(untouchedNode());
    const long = { maxDuration: 48 * 3_600, heartbeatTimeout: 1_800 };
    expect(paceOf("evicting", { node: bare, memory: { ...quietFor(600), looks: 600 } }, long)).toBe(450);
  });

  it("tries a failed beat again within seconds, and not faster than I6's looks last", () => {
    const brokenBeat = { ...quietFor(600), beat: { at: NOW, ok: false } };
    expect(paceOf("evicting", { memory: brokenBeat })).toBe(5);
    const long = { maxDuration: 48 * 3_600, heartbeatTimeout: 7_200 };
    const unordered = read(untouchedNode());
    const late = paceOf("evicting", { node: unordered, memory: { ...brokenBeat, looks: 500 } }, long);
    expect(late).toBeGreaterThan(300);
  });

  it("asks EC2 about a dead machine every 5 s and never slower, and half as often while it is throttled (I12)", () => {
    const dead = (memory: Partial<Memory> = {}): number =>
      pace(understand(deadMachine({ memory }), policy()), "proving-death");
    expect(dead()).toBe(5);
    expect(dead(quietFor(600))).toBe(5);
    const throttled = deadMachine({ instance: failed("ec2.describeInstance", "throttled") });
    const inSeconds = [0, 1, 2].map((blindLooks) => {
      const { next } = decide({ ...throttled, memory: { ...throttled.memory, blindLooks } }, policy());
      return next.kind === "again" ? next.inSeconds : 0;
    });
    expect(inSeconds).toEqual([10, 20, 30]);
  });
});

/** What a run of nothing but waiting does: beats and looks, with each action's outcome given. */
interface Waiting {
  readonly beats: readonly Instant[];
  readonly looks: number;
  readonly endedAt: Instant;
  readonly outcome: string;
}

/** Decides and remembers until the end, a pod that never goes on the node; `refuse` lets an action fail. */
function waitOut(
  task: Task,
  choices: Policy,
  differs: Differs = {},
  refuse: (action: Action) => string | undefined = () => undefined,
): Waiting {
  let at = task.at;
  let memory: Memory = {
    ...initialMemory(at),
    node: { name: node().name, uid: "node-uid" },
    verifiedBoot: BOOT,
  };
  const beats: Instant[] = [];
  const ordered = node({ work: formatWork(work(task, { deadline: ownDeadline(task, choices) })) });
  for (let looks = 1; ; looks++) {
    const seen = {
      ...observation({ node: read(ordered), pods: read([pod("stuck", { deleting: true })]), ...differs }),
      task,
      at,
      memory,
    };
    const decision = decide(seen, choices);
    const results = decision.actions.map((action): ActionResult => {
      const cause = refuse(action);
      if (action.kind === "heartbeat" && cause === undefined) beats.push(at);
      return { action, ...(cause === undefined ? {} : { failure: { operation: "x", cause, message: "x" } }) };
    });
    const { next, memory: after } = remember(seen, decision, results, choices);
    memory = after;
    if (next.kind === "done") return { beats, looks, endedAt: at, outcome: next.outcome };
    // The loop gives up past the hard limit (I6); a look more is one too many.
    if (at > ownDeadline(task, choices) + choices.margin * SECOND || looks > 1_000) {
      return { beats, looks, endedAt: at, outcome: "given up" };
    }
    at += next.inSeconds * SECOND;
  }
}

/** Any policy that the settings accept. */
const anyPolicy = fc
  .record({
    heartbeatTimeout: fc.integer({ min: 60, max: 7_200 }),
    maxDuration: fc.integer({ min: 1, max: 48 * 3_600 }),
    margin: fc.integer({ min: 10, max: 3_600 }),
    onDeadline: fc.constantFrom("CONTINUE" as const, "ABANDON" as const),
  })
  .map((choices) => {
    const problems: Parameters<typeof readPolicy>[2] = [];
    return { chosen: readPolicy(choices, "policy", problems), problems };
  })
  .filter(({ problems }) => problems.length === 0)
  .map(({ chosen }) => chosen);

const task = lifecycleTask({ at: NOW });

describe("a whole run of waiting, for any policy", () => {
  it("beats at most 0.75 × the time-out apart, and never after the end (I10)", () => {
    fc.assert(
      fc.property(anyPolicy, (choices) => {
        const { beats, endedAt } = waitOut(task, choices);
        const times = [task.at, ...beats, endedAt];
        for (const [index, time] of times.slice(1).entries()) {
          expect(time - (times[index] ?? 0)).toBeLessThanOrEqual(0.75 * choices.heartbeatTimeout * SECOND);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("ends by its deadline with the policy's result, in at most 1,000 looks (I6)", () => {
    fc.assert(
      fc.property(anyPolicy, (choices) => {
        const { looks, endedAt, outcome } = waitOut(task, choices);
        expect(outcome).toBe("deadline");
        expect(looks).toBeLessThanOrEqual(1_000);
        expect(endedAt - ownDeadline(task, choices)).toBeLessThan(SECOND);
      }),
      { numRuns: 30 },
    );
  });

  it.each<[string, Action["kind"], string]>([
    ["the Node may not be patched", "patch-node", "forbidden"],
    ["no beat succeeds", "heartbeat", "forbidden"],
    ["each eviction meets a throttled API", "evict", "throttled"],
    ["Events may not be written", "event", "forbidden"],
  ])("keeps to 1,000 looks where %s (I6)", (_what, kind, cause) => {
    fc.assert(
      fc.property(anyPolicy, (choices) => {
        const untouched = { node: read(node({ unschedulable: false })), pods: read([pod("web")]) };
        const refuse = (action: Action): string | undefined => (action.kind === kind ? cause : undefined);
        const { looks, outcome } = waitOut(task, choices, untouched, refuse);
        expect(looks).toBeLessThanOrEqual(1_000);
        expect(outcome).toBe("deadline");
      }),
      { numRuns: 12 },
    );
  });

  it("keeps to 1,000 looks where the completion is refused to the end (I2, I6)", () => {
    fc.assert(
      fc.property(anyPolicy, (choices) => {
        const refuse = (action: Action): string | undefined =>
          action.kind === "complete" ? "forbidden" : undefined;
        const { looks, outcome } = waitOut(task, choices, {}, refuse);
        expect(looks).toBeLessThanOrEqual(1_000);
        expect(outcome).toBe("given up");
      }),
      { numRuns: 12 },
    );
  });

  it("keeps to 1,000 looks while Kubernetes cannot be read (D17)", () => {
    fc.assert(
      fc.property(anyPolicy, (choices) => {
        const { looks, outcome } = waitOut(task, choices, { pods: failed("kubernetes.listPodsOnNode") });
        expect(looks).toBeLessThanOrEqual(1_000);
        expect(outcome).toBe("deadline");
      }),
      { numRuns: 12 },
    );
  });

  it("ends a spot notice's work at the notice, and the gone work after 15 minutes (D14, D16)", () => {
    const spot = waitOut(spotTask({ at: NOW, until: NOW + 2 * MINUTE }), policy());
    expect(spot).toMatchObject({ endedAt: NOW + 2 * MINUTE, outcome: "deadline" });
    const dead = deadMachine({ lease: failed("kubernetes.getLease") });
    const gone = waitOut(goneTask({ at: NOW }), policy(), dead);
    expect(gone).toMatchObject({ endedAt: NOW + 15 * MINUTE, outcome: "deadline" });
    expect(gone.looks).toBeLessThanOrEqual(181);
  });
});
