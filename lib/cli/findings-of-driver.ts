/** The CSI driver's node pods, the hook in them, its controller, and drainers that would answer our hook. */
import { HOOK_LABEL } from "../drain/names.ts";
import type {
  ContainerView,
  DaemonSetView,
  DriverPodView,
  InspectionPort,
  WorkloadView,
} from "../kubernetes/inspection.ts";
import { type Finding, ok, problem } from "./finding.ts";
import { findingsOfHookRights } from "./findings-of-cluster.ts";

const INSTALL =
  "ebs-drain install hook --image IMAGE --with admission-policy | kubectl apply -f -   # see docs/hook-install.md";
/** The upstream hook waits within this; a detach takes longer on a busy day. */
const SHORTEST_GRACE = 60;

export async function findingsOfDriver(inspection: InspectionPort): Promise<readonly Finding[]> {
  const sets = (await inspection.listDaemonSets()).filter(isDriver);
  if (sets.length === 0) {
    return [
      problem(
        "csi driver",
        "error",
        "no DaemonSet runs the EBS CSI driver",
        "without it no volume is mounted or unmounted on a node; Auto Mode nodes run it outside the cluster and are not drained by ebs-drain",
        "aws eks create-addon --cluster-name CLUSTER --addon-name aws-ebs-csi-driver",
      ),
    ];
  }
  const found: Finding[] = [];
  let hooked: DriverPodView | undefined;
  for (const set of sets) {
    const pods = await inspection.listDriverPods(set);
    hooked ??= pods.find(hasHook);
    found.push(...findingsOfSet(set, pods));
  }
  return hooked === undefined ? found : [...found, ...(await findingsOfHookRights(inspection, hooked))];
}

/** By what it runs, on Linux: names and namespaces differ. */
function isDriver({ containers, os }: DaemonSetView): boolean {
  return os !== "windows" && containers.some(isPlugin);
}

function isPlugin({ image, name }: ContainerView): boolean {
  return name === "ebs-plugin" || /ebs-csi-driver(?::|@|$)/.test(image);
}

function isRegistrar({ image, name }: ContainerView): boolean {
  return name.includes("registrar") || image.includes("node-driver-registrar");
}

function hasHook({ labels }: DriverPodView): boolean {
  return labels[HOOK_LABEL] !== undefined;
}

function findingsOfSet(set: DaemonSetView, pods: readonly DriverPodView[]): readonly Finding[] {
  const name = `${set.namespace}/${set.name}`;
  const version = set.containers.find(isPlugin)?.image.split(":").at(-1) ?? "of unknown version";
  return [
    ok("csi driver", `DaemonSet ${name}: driver ${version}, ${pods.length} pods`),
    tolerationsOf(set, name),
    hookOf(pods, name),
    ...protectionOf(pods, name),
    ...graceOf(set, pods, name),
  ];
}

function tolerationsOf({ tolerations, namespace, name: set }: DaemonSetView, name: string): Finding {
  const all = tolerations.some(
    ({ key, operator, effect }) => operator === "Exists" && (key ?? "") === "" && (effect ?? "") === "",
  );
  if (all) return ok("csi driver", `DaemonSet ${name} tolerates every taint`);
  return problem(
    "csi driver",
    "warning",
    `DaemonSet ${name} does not tolerate every taint`,
    "a drainer's NoExecute taint ends the driver before the volumes are unmounted, and a tainted node gets none",
    `kubectl patch daemonset ${set} -n ${namespace} --type merge -p '{"spec":{"template":{"spec":{"tolerations":[{"operator":"Exists"}]}}}}'   # in the chart: node.tolerateAllTaints`,
  );
}

function hookOf(pods: readonly DriverPodView[], name: string): Finding {
  const bare = pods.filter((pod) => !hasHook(pod));
  if (bare.length === 0 && pods.length > 0) return ok("csi driver", `the hook is in every pod of ${name}`);
  if (bare.length === pods.length) {
    return problem(
      "csi driver",
      "warning",
      `the hook is in no pod of ${name}`,
      "drains by the functions work without it; a kubelet shutdown or another drainer still tears volumes away, and each drain takes seconds longer",
      INSTALL,
    );
  }
  const nodes = bare.map(({ nodeName }) => nodeName);
  return problem(
    "csi driver",
    "warning",
    `the hook is in ${pods.length - bare.length} of ${pods.length} pods of ${name}; not on ${nodes.slice(0, 3).join(", ")}`,
    "pods from before the install have no hook until they are made anew",
    `kubectl rollout restart daemonset ${name.split("/")[1]} -n ${name.split("/")[0]}`,
  );
}

/** Where the hook is, what must outlive the wait: the driver, and the registrar, whose end deregisters the driver. */
function protectionOf(pods: readonly DriverPodView[], name: string): readonly Finding[] {
  const hooked = pods.filter(hasHook);
  const unheld = (which: (container: ContainerView) => boolean): readonly DriverPodView[] =>
    hooked.filter(({ containers }) => containers.some((each) => which(each) && each.preStop === undefined));
  const registrar = unheld(isRegistrar);
  const driver = unheld(isPlugin);
  if (hooked.length > 0 && registrar.length + driver.length === 0) {
    return [ok("csi driver", `driver and registrar of ${name} stay until the hook answers (C32)`)];
  }
  const of = (what: string, where: readonly DriverPodView[]): readonly Finding[] =>
    where.length === 0
      ? []
      : [
          problem(
            "csi driver",
            "error",
            `the ${what} of ${where[0]?.namespace}/${where[0]?.name} has no preStop (${where.length} such pods)`,
            "it ends at once when the pod does: the kubelet then finds no driver, and nothing more is unmounted on that node",
            INSTALL,
          ),
        ];
  return [...of("registrar", registrar), ...of("driver", driver)];
}

function graceOf(set: DaemonSetView, pods: readonly DriverPodView[], name: string): readonly Finding[] {
  const shortest = Math.min(
    ...(pods.length === 0 ? [set.graceSeconds] : pods.map((pod) => pod.graceSeconds)),
  );
  if (shortest >= SHORTEST_GRACE) return [ok("csi driver", `pods of ${name} have ${shortest} s to end`)];
  return [
    problem(
      "csi driver",
      "warning",
      `pods of ${name} have ${shortest} s to end`,
      "whatever waits for volumes in their preStop is killed after that, the detach done or not",
      `kubectl patch daemonset ${set.name} -n ${set.namespace} --type merge -p '{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":600}}}}'   # in the chart: node.terminationGracePeriodSeconds`,
    ),
  ];
}

/** C33: detaching stands still while the attacher's only replica moves. */
export function findingsOfController(deployments: readonly WorkloadView[]): readonly Finding[] {
  const controllers = deployments.filter(({ containers }) =>
    containers.some(({ name }) => name === "csi-attacher"),
  );
  return controllers.map(({ namespace, name, replicas = 1 }) =>
    replicas >= 2
      ? ok("csi driver", `CSI controller ${namespace}/${name}: ${replicas} replicas`)
      : problem(
          "csi driver",
          "warning",
          `CSI controller ${namespace}/${name} has ${replicas} replica`,
          "on the drained node it has to move first, and nothing is detached meanwhile (C33)",
          `kubectl scale deployment ${name} -n ${namespace} --replicas 2   # in the chart: controller.replicaCount`,
        ),
  );
}

/** AWS's node termination handler in queue mode answers whichever hook's event it is sent, as soon as the pods are gone. */
export function findingsOfDrainers(workloads: readonly WorkloadView[]): readonly Finding[] {
  const handlers = workloads.filter(({ containers }) => containers.some(isQueueHandler));
  if (handlers.length === 0)
    return [ok("other drainers", "none was found that would complete our lifecycle hook")];
  return handlers.map(({ kind, namespace, name }) =>
    problem(
      "other drainers",
      "error",
      `${kind} ${namespace}/${name} is a node termination handler in queue mode`,
      "it completes any terminate hook whose event reaches its queue when the pods are gone, not when the volumes are (C1, C22)",
      "aws events list-rules   # let its rule match only the hook of its own: detail.LifecycleHookName",
    ),
  );
}

function isQueueHandler({ image, env, args }: ContainerView): boolean {
  if (!image.includes("aws-node-termination-handler")) return false;
  const isOn = (value: string | undefined): boolean => value?.toLowerCase() === "true";
  return (
    isOn(env["ENABLE_SQS_TERMINATION_DRAINING"]) ||
    args.some((arg) => /^--enable-sqs-termination-draining(?:=true)?$/.test(arg))
  );
}
