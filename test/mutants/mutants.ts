/**
 * One-line mutants, each of which breaks a rule that guards data or somebody else's property. The soak has to find every one of
 * them; one that survives says that the invariants, or the worlds drawn, are blind to that rule.
 */
export interface Mutant {
  /** The rule it breaks. */
  readonly rule: string;
  /** What the product does with it. */
  readonly what: string;
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly from: string;
  readonly to: string;
}

export const MUTANTS: readonly Mutant[] = [
  {
    rule: "D11",
    what: "what EC2 says is attached does not block",
    file: "lib/drain/volumes.ts",
    from: 'return verdict(subject, "detaching", true, `EC2 is detaching it${detail}`);',
    to: 'return verdict(subject, "detaching", false, `EC2 is detaching it${detail}`);',
  },
  {
    rule: "D11",
    what: "a VolumeAttachment that is gone is enough, whatever EC2 says",
    file: "lib/drain/volumes.ts",
    from: "return verdict(subject, kind, true, `no VolumeAttachment is left, EC2 still says ${volume.state}`);",
    to: "return verdict(subject, kind, false, `no VolumeAttachment is left, EC2 still says ${volume.state}`);",
  },
  {
    rule: "D11",
    what: "an attachment whose detach was asked for does not block",
    file: "lib/drain/volumes.ts",
    from: ': verdict(subject, "attached", true, `EC2 says ${inEc2.state}`);',
    to: ': verdict(subject, "attached", false, `EC2 says ${inEc2.state}`);',
  },
  {
    rule: "D12",
    what: "completes while volumes block",
    file: "lib/drain/draining.ts",
    from: "situation.blocking.length === 0 &&",
    to: "situation.blocking.length >= 0 &&",
  },
  {
    rule: "D9",
    what: "a pod whose deletion was asked for counts as gone",
    file: "lib/drain/pods.ts",
    from: 'evictable: pods.filter((pod) => isOf(pod, "evictable")),',
    to: 'evictable: pods.filter((pod) => isOf(pod, "evictable") && !pod.deleting),',
  },
  {
    rule: "D14",
    what: "shutting-down and stopping count as dead",
    file: "lib/drain/death.ts",
    from: 'return state === "terminated" || state === "stopped";',
    to: 'return state !== "running";',
  },
  {
    rule: "D14",
    what: "no proof is asked of Node and CSINode, nor of the Lease",
    file: "lib/drain/death.ts",
    from: "return [...missingOfEc2(situation), ...missingOfNode(situation), ...missingOfLease(situation)];",
    to: "return [...missingOfEc2(situation), ...missingOfNode(situation).slice(9), ...missingOfLease(situation).slice(9)];",
  },
  {
    rule: "D14",
    what: "a hibernated machine's volumes are taken away",
    file: "lib/drain/death.ts",
    from: 'if (isHibernated(situation)) return ["the machine is hibernated, or may be"];',
    to: "if (isHibernated(situation)) return [];",
  },
  {
    rule: "D14",
    what: "the taint of a machine that runs again stays on",
    file: "lib/drain/node-patch.ts",
    from: 'taint.key === OUT_OF_SERVICE_TAINT && isOurs(taint.value ?? "")',
    to: 'taint.key === OUT_OF_SERVICE_TAINT && !isOurs(taint.value ?? "")',
  },
  {
    rule: "D2",
    what: "other teams' lifecycle hooks are completed",
    file: "lib/engine/dispatch.ts",
    from: "if (hook !== hookName)",
    to: "if (hook === undefined)",
  },
  {
    rule: "D1",
    what: "a group that nobody configured is ours",
    file: "lib/engine/dispatch.ts",
    from: "const cluster = clusterOfGroup(deps.settings, group);",
    to: "const cluster = deps.settings.clusters[0];",
  },
  {
    rule: "D5",
    what: "a Node of the name is ours, whatever its provider id says",
    file: "lib/drain/situation.ts",
    from: 'if (!isOfInstance(node.providerId, observation.task.instance)) return "absent";',
    to: 'if (!isOfInstance(node.providerId, observation.task.instance)) return "ours";',
  },
  {
    rule: "D6",
    what: "only the first heartbeat is sent",
    file: "lib/drain/pace.ts",
    from: "return beat === undefined || !beat.ok || situation.now - beat.at >= beatInterval(situation) - SECOND;",
    to: "return beat === undefined || !beat.ok;",
  },
  {
    rule: "D7",
    what: "`force` does not wait for its time",
    file: "lib/drain/draining.ts",
    from: "const due = policy.force && now - task.at >= policy.forceAfter * SECOND;",
    to: "const due = policy.force && now >= task.at;",
  },
  {
    rule: "D13",
    what: "the deadline gives no result",
    file: "lib/drain/lifecycle-limits.ts",
    from: '{ kind: "complete", result: policy.onDeadline },',
    to: "",
  },
  {
    rule: "D15",
    what: "the cordon of a machine back in service stays",
    file: "lib/drain/node-patch.ts",
    from: "...(what.uncordon && node.unschedulable",
    to: "...(what.uncordon && !node.unschedulable",
  },
  {
    rule: "D18",
    what: "a dry run acts",
    file: "lib/engine/look.ts",
    from: "options.dryRun === true ?",
    to: "options.dryRun === false ?",
  },
];
