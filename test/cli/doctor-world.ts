/** A cluster and an account in which `doctor` finds nothing to complain of; a test says what differs. */
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import type { AwsInspectionPort, LifecycleHookView } from "../../lib/aws/inspection.ts";
import type { DoctorOptions } from "../../lib/cli/doctor.ts";
import { doctor } from "../../lib/cli/doctor.ts";
import type { Finding } from "../../lib/cli/finding.ts";
import type { Operator } from "../../lib/cli/operator.ts";
import { told } from "../../lib/cli/running.ts";
import type { NodeView } from "../../lib/drain/cluster.ts";
import { HOOK_LABEL } from "../../lib/drain/names.ts";
import { PortError } from "../../lib/engine/errors.ts";
import type {
  ContainerView,
  DaemonSetView,
  DriverPodView,
  InspectionPort,
} from "../../lib/kubernetes/inspection.ts";
import { World } from "../../lib/sim/world.ts";
import { instance } from "../drain/observation-builder.ts";
import { KeptTerminal } from "./terminal.ts";
import { awsInspectionOf, inspectionOf, operatorOf } from "./world-operator.ts";

export const GROUP = "workers-a";

export function container(name: string, differs: Partial<ContainerView> = {}): ContainerView {
  return { name, image: `registry.example/${name}:v1`, args: [], env: {}, ...differs };
}

const HELD = { preStop: "httpGet" } as const;
export const CONTAINERS: readonly ContainerView[] = [
  container("ebs-plugin", { image: "registry.example/aws-ebs-csi-driver:v1.57.0", ...HELD }),
  container("node-driver-registrar", HELD),
  container("liveness-probe"),
  container("ebs-drain-hook", HELD),
];

export const DRIVER: DaemonSetView = {
  namespace: "kube-system",
  name: "ebs-csi-node",
  containers: CONTAINERS,
  graceSeconds: 600,
  tolerations: [{ operator: "Exists" }],
  os: "linux",
};

export function driverPod(differs: Partial<DriverPodView> = {}): DriverPodView {
  return {
    namespace: "kube-system",
    name: "ebs-csi-node-x",
    nodeName: "node-1",
    serviceAccount: "ebs-csi-node-sa",
    labels: { [HOOK_LABEL]: "true" },
    graceSeconds: 600,
    containers: CONTAINERS,
    ...differs,
  };
}

export function hook(differs: Partial<LifecycleHookView> = {}): LifecycleHookView {
  return {
    name: DEFAULT_POLICY.hookName,
    transition: "autoscaling:EC2_INSTANCE_TERMINATING",
    heartbeatTimeout: 300,
    defaultResult: "CONTINUE",
    ...differs,
  };
}

export interface Differs {
  readonly inspection?: Partial<InspectionPort>;
  readonly aws?: Partial<AwsInspectionPort>;
  readonly operator?: Partial<Operator>;
  readonly options?: Partial<DoctorOptions>;
  readonly nodes?: readonly NodeView[];
}

const HEALTHY: Partial<InspectionPort> = {
  getVersion: async () => "v1.36.2-eks-1",
  listBudgets: async () => [],
  listDaemonSets: async () => [DRIVER],
  listDeployments: async () => [
    {
      kind: "Deployment",
      namespace: "kube-system",
      name: "ebs-csi-controller",
      replicas: 2,
      containers: [container("csi-attacher")],
    },
  ],
  listDriverPods: async () => [driverPod()],
  listStatefulSets: async () => [],
  listBoundVolumes: async () => [],
  listZoneNodes: async () => [],
  reviewOwnAccess: async () => ({ allowed: true, reason: "" }),
  reviewAccessOf: async () => ({ allowed: true, reason: "" }),
};

const WELL: Partial<AwsInspectionPort> = {
  listHooks: async () => [hook(), hook({ name: "Terminate-LC-Hook", heartbeatTimeout: 1_800 })],
  describeAccess: async () => ({
    authenticationMode: "API",
    isPublic: true,
    publicCidrs: ["0.0.0.0/0"],
  }),
  listAccessEntries: async () => [{ principal: "arn:aws:iam::1:role/drain", groups: ["ebs-drain"] }],
  tryDescribeInstances: async () => undefined,
  tryDescribeVolumes: async () => undefined,
};

export interface Diagnosis {
  readonly code: number;
  readonly findings: readonly Finding[];
  readonly text: string;
}

/** Runs `doctor` twice: for machines, and for people. */
export async function diagnosed(differs: Differs = {}): Promise<Diagnosis> {
  const world = new World({ seed: 1 });
  const noAction = new PortError(
    "no-active-action",
    "autoScaling.heartbeat",
    "No active Lifecycle Action found",
  );
  const operator = operatorOf(world, {
    inspection: inspectionOf({ ...HEALTHY, ...differs.inspection }),
    groups: [GROUP],
    cluster: { ...world.clusterPort, listNodes: async () => differs.nodes ?? [] },
    aws: {
      kind: "granted",
      region: "eu-west-1",
      ec2: { ...world.aws.ec2, describeInstances: async (ids) => ids.map((id) => instance({ id })) },
      autoScaling: {
        ...world.aws.autoScaling,
        describeMember: async () => undefined,
        heartbeat: () => Promise.reject(noAction),
      },
      inspection: awsInspectionOf({ ...WELL, ...differs.aws }),
    },
    ...differs.operator,
  });
  const options: DoctorOptions = { output: "json", group: [], strict: false, ...differs.options };
  const json = new KeptTerminal();
  const code = await told(() => doctor(options, operator, json), json);
  const table = new KeptTerminal();
  await told(() => doctor({ ...options, output: "table" }, operator, table), table);
  const findings = code === 2 ? [] : (JSON.parse(json.printed.join("\n")) as readonly Finding[]);
  return { code, findings, text: table.printed.join("\n") };
}

/** Those that are not well. */
export function complaints({ findings }: Diagnosis): readonly Finding[] {
  return findings.filter(({ level }) => level !== "ok");
}
