/** AWS: credentials and rights, lifecycle hooks of the groups, and the way into the cluster. */
import { KUBERNETES_GROUP } from "../drain/names.ts";
import { PortError } from "../engine/errors.ts";
import type { Policy } from "../drain/policy.ts";
import type { AwsInspectionPort, LifecycleHookView } from "../aws/inspection.ts";
import { type Finding, ok, problem } from "./finding.ts";
import type { AwsAccess } from "./operator.ts";

type Granted = Extract<AwsAccess, { readonly kind: "granted" }>;

const TRANSITION = "autoscaling:EC2_INSTANCE_TERMINATING";
/** EKS's own, on the groups of managed node groups. */
const HOOKS_OF_EKS: readonly string[] = ["Terminate-LC-Hook", "Launch-LC-Hook"];
/** No lifecycle action has it: a beat by it is refused as over where the right is there. */
const NOBODYS_TOKEN = "00000000-0000-0000-0000-000000000000";

/** EC2's rights by its DryRun, the beat's by an action that is none. Completing has no dry run and is not tried. */
export async function findingsOfIam(
  { inspection, autoScaling, region }: Granted,
  group: string | undefined,
  policy: Policy,
): Promise<readonly Finding[]> {
  const tries: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["ec2:DescribeInstances", inspection.tryDescribeInstances],
    ["ec2:DescribeVolumes", inspection.tryDescribeVolumes],
    ["autoscaling:DescribeAutoScalingInstances", () => autoScaling.describeMember("i-00000000000000000")],
    ...(group === undefined
      ? []
      : [
          [
            "autoscaling:RecordLifecycleActionHeartbeat",
            () => beatNobody(autoScaling, group, policy),
          ] as const,
        ]),
  ];
  const refused: string[] = [];
  for (const [action, attempt] of tries) if (!(await isAllowed(attempt))) refused.push(action);
  if (refused.length > 0) {
    return [
      problem(
        "aws",
        "warning",
        `these credentials may not ${refused.join(", ")}`,
        "`plan`, `status` and `drain` see Kubernetes' side only then; the deployed functions have a role of their own",
        "aws sts get-caller-identity   # then allow these actions, or choose with --profile",
      ),
    ];
  }
  return [
    ok(
      "aws",
      `${region}: ${tries.map(([action]) => action).join(", ")} allowed (completing has no dry run: not tried)`,
    ),
  ];
}

function beatNobody(autoScaling: Granted["autoScaling"], group: string, { hookName }: Policy): Promise<void> {
  return autoScaling.heartbeat({ group, hook: hookName, instance: "", token: NOBODYS_TOKEN });
}

/** Every other answer than a refusal comes after the rights were checked. */
async function isAllowed(attempt: () => Promise<unknown>): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    if (error.kind === "forbidden") return false;
    if (error.kind === "no-active-action" || error.kind === "not-found" || error.kind === "rejected")
      return true;
    throw error;
  }
}

export async function findingsOfHooks(
  inspection: AwsInspectionPort,
  groups: readonly string[],
  policy: Policy,
): Promise<readonly Finding[]> {
  if (groups.length === 0) {
    return [
      problem(
        "lifecycle hooks",
        "unknown",
        "no Auto Scaling group is known",
        "without its hook an instance is gone before anybody is asked",
        "ebs-drain doctor --config FILE   # or --group NAME",
      ),
    ];
  }
  const found = await Promise.all(
    groups.map(async (group) => hooksOf(group, await inspection.listHooks(group), policy)),
  );
  return found.flat();
}

function hooksOf(group: string, hooks: readonly LifecycleHookView[], policy: Policy): readonly Finding[] {
  const own = hooks.find(({ name }) => name === policy.hookName);
  const foreign = hooks.filter(
    ({ name, transition }) => name !== policy.hookName && transition === TRANSITION,
  );
  return [
    own === undefined ? withoutHook(group, policy) : ownHook(group, own, policy),
    ...foreignHooks(group, foreign),
  ];
}

function putHook(group: string, { hookName, heartbeatTimeout }: Policy): string {
  return (
    `aws autoscaling put-lifecycle-hook --auto-scaling-group-name ${group} --lifecycle-hook-name ${hookName} ` +
    `--lifecycle-transition ${TRANSITION} --heartbeat-timeout ${heartbeatTimeout} --default-result CONTINUE`
  );
}

function withoutHook(group: string, policy: Policy): Finding {
  return problem(
    "lifecycle hooks",
    "error",
    `group ${group} has no lifecycle hook ${policy.hookName}`,
    "its instances go at once: their volumes are torn away, and other nodes wait 6 minutes for them (C1)",
    `npx cdk deploy   # or by hand: ${putHook(group, policy)}`,
  );
}

function ownHook(group: string, hook: LifecycleHookView, policy: Policy): Finding {
  const { heartbeatTimeout } = policy;
  const faults = [
    ...(hook.transition === TRANSITION ? [] : [`is for ${hook.transition}, not for termination`]),
    ...(hook.heartbeatTimeout >= heartbeatTimeout
      ? []
      : [
          `has a heartbeat timeout of ${hook.heartbeatTimeout} s, the policy's is ${heartbeatTimeout} s, and beats come at half of that`,
        ]),
  ];
  const fix = putHook(group, policy);
  if (faults.length > 0) {
    const why = "actions run out between two beats, or never open: instances go with their volumes attached";
    return problem(
      "lifecycle hooks",
      "error",
      `hook ${hook.name} of ${group} ${faults.join(" and ")}`,
      why,
      fix,
    );
  }
  if (hook.defaultResult !== "CONTINUE") {
    const why =
      "an action that nobody ends stops the group's other hooks, and with a retention policy keeps the instance";
    return problem(
      "lifecycle hooks",
      "warning",
      `hook ${hook.name} of ${group} has default result ${hook.defaultResult}`,
      why,
      fix,
    );
  }
  return ok(
    "lifecycle hooks",
    `group ${group}: ${hook.name}, ${hook.heartbeatTimeout} s, ${hook.defaultResult}`,
  );
}

function foreignHooks(group: string, hooks: readonly LifecycleHookView[]): readonly Finding[] {
  const ofEks = hooks.filter(({ name }) => HOOKS_OF_EKS.includes(name)).map(({ name }) => name);
  const others = hooks.filter(({ name }) => !HOOKS_OF_EKS.includes(name));
  return [
    ...(ofEks.length === 0
      ? []
      : [ok("lifecycle hooks", `group ${group}: ${ofEks.join(", ")} is EKS's own and left alone (D2)`)]),
    ...others.map((hook) =>
      problem(
        "lifecycle hooks",
        "warning",
        `group ${group} has another terminate hook, ${hook.name} (${hook.heartbeatTimeout} s, ${hook.defaultResult})`,
        "an instance waits for all its hooks; who answers this one must not answer ours, and ABANDON there ends ours at once",
        `aws autoscaling describe-lifecycle-hooks --auto-scaling-group-name ${group}   # whose is it?`,
      ),
    ),
  ];
}

/** C35: 401 for want of an access entry, and endpoints that only a VPC reaches. */
export async function findingsOfAccess(
  inspection: AwsInspectionPort,
  cluster: string,
): Promise<readonly Finding[]> {
  const { authenticationMode, isPublic, publicCidrs } = await inspection.describeAccess(cluster);
  const isOpen = isPublic && publicCidrs.includes("0.0.0.0/0");
  const endpoint = isOpen
    ? ok("access", `the endpoint of ${cluster} is public`)
    : problem(
        "access",
        "warning",
        isPublic
          ? `the endpoint of ${cluster} admits ${publicCidrs.join(", ")} only`
          : `the endpoint of ${cluster} is private`,
        "functions outside its VPC get no answer: each drain is blind until its deadline (D17)",
        "give `vpc` with subnets and security groups in the deployment's configuration   # see docs/runbook.md",
      );
  if (authenticationMode === "CONFIG_MAP") {
    const fix = `aws eks update-cluster-config --name ${cluster} --access-config authenticationMode=API_AND_CONFIG_MAP`;
    const why = "access entries count for nothing in this mode: the functions get 401";
    return [endpoint, problem("access", "error", `${cluster} authenticates by CONFIG_MAP`, why, fix)];
  }
  const entries = await inspection.listAccessEntries(cluster);
  const ours = entries.filter(({ groups }) => groups.includes(KUBERNETES_GROUP));
  if (ours.length > 0) {
    return [
      endpoint,
      ok("access", `${ours.map(({ principal }) => principal).join(", ")} comes as group ${KUBERNETES_GROUP}`),
    ];
  }
  return [
    endpoint,
    problem(
      "access",
      "error",
      `no access entry of ${cluster} has the Kubernetes group ${KUBERNETES_GROUP}`,
      "the functions get 401: each drain is blind until its deadline (D17)",
      `npx cdk deploy   # or: aws eks create-access-entry --cluster-name ${cluster} --principal-arn ROLE --kubernetes-groups ${KUBERNETES_GROUP}`,
    ),
  ];
}
