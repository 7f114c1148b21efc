/** H1 to H6 and H8: whether the CSI node pod's containers may be stopped. */
import { expect } from "vitest";
import { DRAIN_TAINTS } from "../../lib/drain/going-away.ts";
import { NOTHING_HELD } from "../../lib/drain/hold-memory.ts";
import { type HoldObservation, hold, holdDeadline } from "../../lib/drain/hold.ts";
import { SECOND } from "../../lib/drain/time.ts";
import { NOW, lifecycleTask, node, policy, read, untouchedNode, work } from "./observation-builder.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import type { RuleRow } from "./rule-row.ts";

/** Two seconds into a hold of a deleted pod on a node with open work and one volume attached. */
function holding(differs: Partial<HoldObservation> = {}): HoldObservation {
  return {
    at: NOW,
    startedAt: NOW - 2 * SECOND,
    policy: policy(),
    drainTaints: DRAIN_TAINTS,
    hooks: { arrived: 2, expected: 2 },
    configuredGrace: 60,
    pod: read({ deleting: true, graceSeconds: 60, revision: "2" }),
    newestRevision: read("2"),
    node: read(node({ work: formatWork(work(lifecycleTask())) })),
    attachments: read([{ name: "csi-1", attacher: "ebs.csi.aws.com", local: false }]),
    listed: true,
    memory: NOTHING_HELD,
    ...differs,
  };
}

const inBrief = (differs: Partial<HoldObservation>): string => {
  const verdict = hold(holding(differs));
  return `${verdict.kind} ${verdict.rule}`;
};
const cordoned = read(untouchedNode({ unschedulable: true }));

export const HOOK_RULES: readonly RuleRow[] = [
  {
    rule: "H1",
    shows: "on a node that stays the hook answers at once",
    holds: () => expect(inBrief({ node: read(untouchedNode()) })).toBe("release H1"),
  },
  {
    rule: "H2",
    shows: "`work` of this boot holds, `work` of another does not",
    holds: () => {
      expect(inBrief({})).toBe("hold H5");
      expect(inBrief({ node: read(node({ bootId: "boot-2", unschedulable: false })) })).toBe("release H1");
    },
  },
  {
    rule: "H3",
    shows: "a rollout on a cordoned node is a rollout: the pod's revision is not the newest",
    holds: () => {
      expect(inBrief({ node: cordoned, newestRevision: read("3") })).toBe("release H3");
      expect(inBrief({ node: cordoned })).toBe("hold H5");
    },
  },
  {
    rule: "H4",
    shows: "a hook that stays alone while the pod lives is one container's restart",
    holds: () => {
      const alive = { pod: read({ deleting: false }), hooks: { arrived: 1, expected: 2 } };
      expect(inBrief({ ...alive, startedAt: NOW - 500 })).toBe("hold H4");
      expect(inBrief(alive)).toBe("release H4");
    },
  },
  {
    rule: "H5",
    shows: "it holds until a complete list shows no managed attachment that counts",
    holds: () => {
      const foreign = read([{ name: "x", attacher: "nfs.csi.k8s.io", local: false }]);
      expect(inBrief({ attachments: foreign })).toBe("release H5");
      expect(inBrief({ attachments: foreign, listed: false })).toBe("hold H5");
      expect(hold(holding({ attachments: read([]) }))).toMatchObject({ kind: "release", detached: true });
    },
  },
  {
    rule: "H6",
    shows: "withdrawn `work` lets go",
    holds: () =>
      expect(inBrief({ node: cordoned, memory: { ...NOTHING_HELD, worked: true, held: true } })).toBe(
        "release H6",
      ),
  },
  {
    rule: "H8",
    shows:
      "its own deadline ends three seconds before the grace, in a shutdown before the critical pods' budget",
    holds: () => {
      const of = { startedAt: NOW, podGrace: 60, configuredGrace: 120, criticalBudget: 30 };
      expect(holdDeadline({ ...of, shuttingDown: false })).toBe(NOW + 57 * SECOND);
      expect(holdDeadline({ ...of, shuttingDown: true })).toBe(NOW + 27 * SECOND);
      expect(inBrief({ startedAt: NOW - 57 * SECOND })).toBe("release H8");
    },
  },
];
