/** D1 to D19, each in its plainest case; the corners are in decide-*.test.ts. */
import { expect } from "vitest";
import { decide } from "../../lib/drain/decide.ts";
import type { Decision } from "../../lib/drain/decision.ts";
import { initialMemory } from "../../lib/drain/memory.ts";
import { EBS_DRIVER, WORK_ANNOTATION } from "../../lib/drain/names.ts";
import { MINUTE, SECOND } from "../../lib/drain/time.ts";
import { dispatch } from "../../lib/engine/dispatch.ts";
import { ForeignInstances } from "../../lib/engine/foreign-instances.ts";
import { look } from "../../lib/engine/look.ts";
import { Recorder } from "../engine/recorder.ts";
import { SmallWorld } from "../engine/small-world.ts";
import { changes } from "./decision-reading.ts";
import { manualTask } from "./manual-task.ts";
import {
  INSTANCE,
  NODE,
  NOW,
  OTHER_INSTANCE,
  ROOT,
  attachment,
  daemonPod,
  deadMachine,
  drained,
  ec2Attachment,
  failed,
  firstLook,
  hookPod,
  instance,
  lifecycleTask,
  node,
  observation,
  pod,
  policy,
  read,
  spotTask,
  untouchedNode,
  volumes,
} from "./observation-builder.ts";
import type { RuleRow } from "./rule-row.ts";

const outcome = ({ next }: Decision): string => (next.kind === "done" ? next.outcome : "again");
const over = (lifecycleState: string): Partial<Parameters<typeof observation>[0]> => ({
  member: read({ instance: INSTANCE, group: "workers-a", lifecycleState }),
  instance: read(instance()),
  memory: { action: "over" },
});

export const DRAIN_RULES: readonly RuleRow[] = [
  {
    rule: "D1",
    shows: "what belongs to no configured group costs one cached call and changes nothing",
    holds: async () => {
      const asked: string[] = [];
      const started: string[] = [];
      const deps = {
        settings: { policy: policy(), clusters: [{ name: "blue", groups: ["workers-a"] }] },
        ec2: {
          describeInstance: async (id: string) => {
            asked.push(id);
            return instance({ id, group: "others" });
          },
        },
        foreign: new ForeignInstances(() => NOW),
        executions: {
          start: async (name: string) => {
            started.push(name);
            return "started" as const;
          },
        },
        sweep: () => Promise.reject(new Error("no sweep here")),
        telemetry: new Recorder(),
        now: () => NOW,
        here: {},
      };
      const event = {
        source: "aws.ec2",
        "detail-type": "EC2 Instance State-change Notification",
        time: "2026-11-02T09:30:00Z",
        detail: { "instance-id": OTHER_INSTANCE, state: "terminated" },
      };
      expect((await dispatch(event, deps)).kind).toBe("foreign");
      expect((await dispatch(event, deps)).kind).toBe("foreign");
      expect(asked).toEqual([OTHER_INSTANCE]);
      expect(started).toEqual([]);
    },
  },
  {
    rule: "D2",
    shows: "an action that somebody else ended raises an alarm, and nothing is completed again",
    holds: () => {
      const decision = decide(observation(over("Terminating:Wait")), policy());
      expect(outcome(decision)).toBe("completed-by-other");
      expect(decision.actions).toContainEqual({ kind: "metric", name: "CompletedByOther", value: 1 });
      expect(changes(decision)).toEqual([]);
    },
  },
  {
    rule: "D3",
    shows: "work whose reason is gone ends",
    holds: () => {
      expect(outcome(decide(observation({ memory: { action: "completed" } }), policy()))).toBe("completed");
      expect(outcome(decide(deadMachine({ attachments: read([]) }), policy()))).toBe("freed");
    },
  },
  {
    rule: "D4",
    shows: "a machine that never joined and holds no volume is let go after joinGrace, and not before",
    holds: () => {
      const missing = (launchedAgo: number): Decision =>
        decide(
          firstLook({
            node: read(null),
            instance: read(instance({ launchTime: NOW - launchedAgo * SECOND })),
            task: lifecycleTask({ launchTime: NOW - launchedAgo * SECOND }),
            memory: { looks: 3, lookups: 2, nodesListed: true },
          }),
          policy(),
        );
      expect(outcome(missing(91))).toBe("never-joined");
      expect(outcome(missing(60))).toBe("again");
    },
  },
  {
    rule: "D5",
    shows: "the cordon, with `work` in the same patch, is the first change of all",
    holds: () => {
      const decision = decide(firstLook({ pods: read([pod("web")]) }), policy());
      expect(changes(decision)).toEqual(["patch-node", "heartbeat", "evict"]);
      expect(decision.actions[0]).toMatchObject({ patch: [{ op: "test", path: "/metadata/uid" }, {}, {}] });
    },
  },
  {
    rule: "D6",
    shows: "beats begin with the first look and come at half the time-out",
    holds: () => {
      expect(changes(decide(firstLook(), policy()))).toContain("heartbeat");
      const beaten = (seconds: number): Decision =>
        decide(observation({ memory: { beat: { at: NOW - seconds * SECOND, ok: true } } }), policy());
      expect(changes(beaten(140))).toEqual([]);
      expect(changes(beaten(150))).toEqual(["heartbeat"]);
    },
  },
  {
    rule: "D7",
    shows: "the CSI controller is evicted first, then pods with volumes, then others",
    holds: () => {
      const csi = pod("csi", { containers: ["csi-attacher"] });
      const pods = read([pod("web"), pod("database", { claims: ["data"] }), csi]);
      const decision = decide(observation({ pods }), policy());
      const order = decision.actions.flatMap((action) => (action.kind === "evict" ? action.groups : []));
      expect(order.map((group) => group.map(({ name }) => name))).toEqual([["csi"], ["database"], ["web"]]);
    },
  },
  {
    rule: "D8",
    shows: "the node's own pods and finished ones neither go nor keep the work open",
    holds: () => {
      const own = [pod("static", { mirror: true }), daemonPod("logs"), pod("job", { phase: "Succeeded" })];
      expect(changes(decide(drained({ pods: read(own) }), policy()))).toEqual(["complete"]);
    },
  },
  {
    rule: "D9",
    shows: "an evicted pod is waited for until its uid is gone, not until its end was asked for",
    holds: () => {
      const ending = pod("web", { deleting: true, phase: "Failed" });
      const evictions = { [ending.uid]: { outcome: "accepted", at: NOW, pod: "shop/web" } } as const;
      const waiting = drained({ pods: read([ending]), memory: { evictions } });
      expect(changes(decide(waiting, policy()))).toEqual([]);
    },
  },
  {
    rule: "D10",
    shows: "with pods gone and a volume left, the work goes to the hook in the CSI pod, once",
    holds: () => {
      const left = {
        pods: read([hookPod()]),
        attachments: read([attachment("vol-1")]),
        volumes: volumes("vol-1"),
        ec2Volumes: read([ROOT, ec2Attachment("vol-1")]),
      };
      expect(changes(decide(observation(left), policy()))).toEqual(["hand-over"]);
      const again = observation({ ...left, memory: { handedOver: "an earlier pod" } });
      expect(changes(decide(again, policy()))).toEqual([]);
    },
  },
  {
    rule: "D11",
    shows: "attached and busy block; leaked, foreign, local and pinned do not",
    holds: () => {
      const decision = decide(
        observation({
          pods: read([daemonPod("logs", { inlineHandles: ["vol-pinned"] })]),
          attachments: read([
            attachment("vol-attached"),
            attachment("vol-busy", { deleting: true }),
            attachment("vol-leaked"),
            attachment("vol-pinned"),
            attachment("share", { attacher: "nfs.csi.k8s.io" }),
            attachment("local-ebs://x"),
          ]),
          volumes: volumes("vol-attached", "vol-busy", "vol-leaked", "vol-pinned", "share", "local-ebs://x"),
          ec2Volumes: read([
            ec2Attachment("vol-attached"),
            ec2Attachment("vol-busy", { state: "busy" }),
            ec2Attachment("vol-pinned"),
          ]),
        }),
        policy(),
      );
      expect(decision.verdicts.map(({ verdict, blocks }) => `${verdict} ${blocks}`)).toEqual([
        "attached true",
        "busy true",
        "leaked false",
        "pinned false",
        "foreign false",
        "local false",
      ]);
    },
  },
  {
    rule: "D12",
    shows: "CONTINUE needs two looks that agree",
    holds: () => {
      expect(changes(decide(drained({ memory: { agreed: "" } }), policy()))).toEqual([]);
      expect(changes(decide(drained(), policy()))).toEqual(["complete"]);
    },
  },
  {
    rule: "D13",
    shows: "the deadline gives the policy's result and names what blocks",
    holds: () => {
      const late = observation({
        task: lifecycleTask({ at: NOW - 119 * MINUTE }),
        node: read(untouchedNode()),
        pods: read([pod("web")]),
      });
      const decision = decide(late, policy({ onDeadline: "ABANDON" }));
      expect(decision.actions).toContainEqual({ kind: "complete", result: "ABANDON" });
      expect(decision.reason).toContain("shop/web");
    },
  },
  {
    rule: "D14",
    shows: "a dead machine is forced off with every proof, and not with one missing",
    holds: () => {
      expect(changes(decide(deadMachine(), policy()))).toEqual(["force-off"]);
      const adopted = read({ name: NODE, nodeIds: { [EBS_DRIVER]: OTHER_INSTANCE } });
      expect(changes(decide(deadMachine({ csiNode: adopted }), policy()))).toEqual([]);
    },
  },
  {
    rule: "D15",
    shows: "a machine that is back in service gets its Node back as it was",
    holds: () => {
      const decision = decide(observation(over("InService")), policy());
      expect(outcome(decision)).toBe("called-off");
      expect(decision.actions[0]).toMatchObject({ kind: "patch-node", purpose: "withdraw" });
    },
  },
  {
    rule: "D16",
    shows: "a spot notice's drain ends by the notice's time, its evictions cut to fit",
    holds: () => {
      const task = spotTask({ until: NOW + 60 * SECOND });
      const decision = decide(observation({ task, pods: read([pod("web")]) }), policy());
      expect(decision.deadline).toBe(task.until);
      expect(decision.actions).toMatchObject([{ kind: "evict", groups: [[{ graceSeconds: 30 }]] }]);
    },
  },
  {
    rule: "D17",
    shows: "blind, the work beats and waits; it completes only what it saw empty and EC2 shows bare",
    holds: () => {
      const blind = { pods: failed("kubernetes.listPodsOnNode"), ec2Volumes: read([ROOT]) };
      const due = { at: NOW - 200 * SECOND, ok: true };
      expect(changes(decide(observation({ ...blind, memory: { beat: due } }), policy()))).toEqual([
        "heartbeat",
      ]);
      const emptied = observation({ ...blind, memory: { emptied: true, agreed: "D17" } });
      expect(changes(decide(emptied, policy()))).toEqual(["complete"]);
    },
  },
  {
    rule: "D18",
    shows: "a dry run decides the same and changes nothing",
    holds: async () => {
      const world = new SmallWorld();
      world.nodes.set(NODE, node({ unschedulable: false }));
      world.pods = [pod("web")];
      const { decision } = await look(lifecycleTask(), initialMemory(NOW), policy(), world.ports, {
        dryRun: true,
      });
      expect(changes(decision)).toEqual(["patch-node", "heartbeat", "evict"]);
      expect(world.changes()).toEqual([]);
    },
  },
  {
    rule: "D19",
    shows: "a drain by hand sets a plain cordon and evicts, and writes no `work`",
    holds: () => {
      const decision = decide(firstLook({ task: manualTask(), pods: read([pod("web")]) }), policy());
      expect(changes(decision)).toEqual(["patch-node", "evict"]);
      expect(JSON.stringify(decision.actions)).not.toContain(WORK_ANNOTATION);
    },
  },
];
