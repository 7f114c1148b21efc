/** What an operator may choose as policy, and why not everything else. */
import type { Policy } from "./policy.ts";
import { DEFAULT_POLICY, LONGEST_WAIT_SECONDS, MOST_HEARTBEATS } from "./policy.ts";
import type { Check, Checks, JsonSchema, Problem } from "./setting-checks.ts";
import { checked, flag, list, readKeys, repeated, schemaOf, seconds, text, word } from "./setting-checks.ts";

/** Hooks that EKS puts on the groups of managed node groups; completing one ends EKS's own drain. */
const HOOKS_OF_EKS: readonly string[] = ["Terminate-LC-Hook", "Launch-LC-Hook"];

/** Reads `policy`; what is left out keeps its default. */
export function readPolicy(value: unknown, path: string, problems: Problem[]): Policy {
  const policy: Policy = { ...DEFAULT_POLICY, ...readKeys<Policy>(value, path, CHECKS, [], problems) };
  const broken = new Set(problems.map((problem) => problem.path));
  for (const { fields, find } of RULES) {
    if (fields.some((field) => broken.has(`${path}.${field}`))) continue;
    const problem = find(policy);
    if (problem !== undefined) problems.push({ path: `${path}.${fields[0]}`, problem });
  }
  return policy;
}

const ownName = text(
  "1 to 255 of A-Z a-z 0-9 - _ /",
  /^[A-Za-z0-9_/-]{1,255}$/,
  `Auto Scaling takes no other hook names; leave it out for ${DEFAULT_POLICY.hookName}.`,
);

const hookName: Check<string> = checked(ownName.schema, (value, path, problems) => {
  if (typeof value === "string" && HOOKS_OF_EKS.includes(value)) {
    problems.push({
      path,
      problem: `${value} is the hook of EKS itself, and completing it ends EKS's own drain (D2). Name a hook of your own, or leave it out for ${DEFAULT_POLICY.hookName}.`,
    });
    return undefined;
  }
  return ownName(value, path, problems);
});

const driverName = text(
  "a CSI driver's name such as ebs.csi.aws.com",
  /^(?=.{1,63}$)[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/,
  "It is the name of the CSIDriver object.",
);

const CHECKS: Checks<Policy> = {
  hookName,
  heartbeatTimeout: seconds(
    120,
    7_200,
    "The sweep looks once a minute, so under 120 s an action whose event was lost runs out before it is found, and one slow beat loses the machine (D6); Auto Scaling takes no more than 7200. Leave it out for 300.",
  ),
  maxDuration: seconds(
    1,
    LONGEST_WAIT_SECONDS,
    "Auto Scaling lets no instance wait longer than 48 h. Leave it out for 7200.",
  ),
  onDeadline: word(["CONTINUE", "ABANDON"], "These are the results that Auto Scaling knows."),
  force: flag("With true, pods that PDBs still protect are deleted once forceAfter has passed."),
  forceAfter: seconds(
    0,
    LONGEST_WAIT_SECONDS,
    "It counts from the beginning of the drain. Leave it out for 1800.",
  ),
  margin: seconds(
    10,
    LONGEST_WAIT_SECONDS,
    "It is kept before every hard limit, and less than 10 s leaves no time for a retried request. Leave it out for 60.",
  ),
  criticalBudget: seconds(
    5,
    7_200,
    "It is the kubelet's shutdownGracePeriodCriticalPods, of which 3 s are kept (H8). Leave it out for 30.",
  ),
  kubeletGrace: seconds(
    0,
    LONGEST_WAIT_SECONDS,
    "A silent kubelet may come back that long. Leave it out for 180.",
  ),
  joinGrace: seconds(0, LONGEST_WAIT_SECONDS, "A new instance may register that long. Leave it out for 90."),
  drivers: list("CSI driver names", driverName, "Leave it out for ebs.csi.aws.com."),
  outOfService: flag("With false, volumes of a machine that is gone wait for Kubernetes' own 6 minutes."),
};

/** What `readPolicy` accepts, each field with its default. */
export function policySchema(): JsonSchema {
  const { properties, ...others } = schemaOf<Policy>(CHECKS, []);
  const withDefaults = Object.entries(properties as Readonly<Record<keyof Policy, JsonSchema>>).map(
    ([field, schema]) => [field, { ...schema, default: DEFAULT_POLICY[field as keyof Policy] }],
  );
  return { ...others, properties: Object.fromEntries(withDefaults) as JsonSchema };
}

interface PolicyRule {
  /** Fields that the rule compares; the first one is where its problem is shown. */
  readonly fields: readonly (keyof Policy)[];
  readonly find: (policy: Policy) => string | undefined;
}

const RULES: readonly PolicyRule[] = [
  {
    fields: ["maxDuration", "heartbeatTimeout"],
    find: ({ maxDuration, heartbeatTimeout }) =>
      maxDuration <= MOST_HEARTBEATS * heartbeatTimeout
        ? undefined
        : `expected at most ${MOST_HEARTBEATS * heartbeatTimeout} s, 100 times the heartbeatTimeout of ${heartbeatTimeout} s, got ${maxDuration}: Auto Scaling ends the wait then (D13). Lower it, or raise heartbeatTimeout to ${Math.ceil(maxDuration / MOST_HEARTBEATS)} s or more.`,
  },
  {
    fields: ["maxDuration", "margin"],
    find: ({ maxDuration, margin }) =>
      maxDuration > margin
        ? undefined
        : `expected more than the margin of ${margin} s, got ${maxDuration}: the deadline would be over before the drain begins (D13). Raise it, or lower margin.`,
  },
  {
    fields: ["forceAfter", "force", "maxDuration", "margin"],
    find: ({ force, forceAfter, maxDuration, margin }) =>
      !force || maxDuration <= margin || forceAfter < maxDuration - margin
        ? undefined
        : `expected less than ${maxDuration - margin} s, which is maxDuration less margin, got ${forceAfter}: the deadline would come before force ever does. Lower it, or raise maxDuration.`,
  },
  {
    fields: ["drivers"],
    find: ({ drivers }) =>
      repeated(drivers).length === 0
        ? undefined
        : `${repeated(drivers).join(", ")} stands in it more than once. Name each driver once.`,
  },
];
