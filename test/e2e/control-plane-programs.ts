/** The programs of the control plane and their flags; each flag that is not a mere address says why it is there. */
import path from "node:path";
import type { Programs } from "./build.ts";
import type { Certificate, Identity } from "./certificates.ts";
import type { ProgramStart } from "./child-programs.ts";

export type Program =
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-scheduler"
  | "ebs-csi-controller"
  | "csi-attacher";

export interface ControlPlaneOptions {
  /** The EC2 endpoint through which the stand-in EBS CSI controller attaches and detaches. */
  readonly ec2Url: string;
  /** The attach/detach controller's wait before it detaches by force; 6 minutes where not given. */
  readonly maxWaitForUnmountSeconds?: number;
  /** More flags of kube-apiserver. */
  readonly apiServerArgs?: readonly string[];
  /** More flags of kube-controller-manager, for example `fastNodeDeath`. */
  readonly kcmArgs?: readonly string[];
  /** More flags of csi-attacher. */
  readonly attacherArgs?: readonly string[];
  /** Users with a bearer token, besides `admin`. The API server reads its tokens once, at the start. */
  readonly tokenUsers?: readonly Identity[];
}

export interface Layout {
  readonly options: ControlPlaneOptions;
  readonly programs: Programs;
  readonly directory: string;
  readonly apiPort: number;
  readonly etcdPort: number;
  readonly etcdPeerPort: number;
  readonly caFile: string;
  readonly apiServer: Certificate;
  readonly serviceAccountKeyFile: string;
  readonly tokensFile: string;
  readonly kubeconfigs: Readonly<
    Record<"kube-controller-manager" | "kube-scheduler" | "csi-attacher", string>
  >;
}

/** What acts on pods, nodes and volumes. Left out: what needs a cloud, and what no test looks at. */
const controllers = [
  "persistentvolume-attach-detach-controller",
  "persistentvolume-binder-controller",
  "persistentvolume-protection-controller",
  "persistentvolumeclaim-protection-controller",
  "node-lifecycle-controller",
  "taint-eviction-controller",
  "pod-garbage-collector-controller",
  "statefulset-controller",
  "deployment-controller",
  "replicaset-controller",
  "daemonset-controller",
  "disruption-controller",
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "root-ca-certificate-publisher-controller",
];

export function serverUrl(apiPort: number): string {
  return `https://127.0.0.1:${apiPort}`;
}

/** How to start each of them, in the order in which they are started. */
export function programStarts(layout: Layout): Readonly<Record<Program, ProgramStart>> {
  return {
    etcd: etcd(layout),
    "kube-apiserver": apiServer(layout),
    "kube-controller-manager": controllerManager(layout),
    "kube-scheduler": scheduler(layout),
    "ebs-csi-controller": csiController(layout),
    "csi-attacher": attacher(layout),
  };
}

function etcd({ programs, directory, etcdPort, etcdPeerPort }: Layout): ProgramStart {
  const client = `http://127.0.0.1:${etcdPort}`;
  const peer = `http://127.0.0.1:${etcdPeerPort}`;
  return {
    name: "etcd",
    program: path.join(programs.kubernetes, "etcd"),
    args: [
      `--data-dir=${path.join(directory, "etcd")}`,
      "--name=e2e",
      "--log-level=warn",
      "--unsafe-no-fsync", // a test needs its state only as long as the machine is up
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=e2e=${peer}`,
    ],
  };
}

function apiServer(layout: Layout): ProgramStart {
  return {
    name: "kube-apiserver",
    program: path.join(layout.programs.kubernetes, "kube-apiserver"),
    args: [
      `--etcd-servers=http://127.0.0.1:${layout.etcdPort}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${layout.apiPort}`,
      "--endpoint-reconciler-type=none", // a loopback address is refused as an endpoint
      `--tls-cert-file=${layout.apiServer.certFile}`,
      `--tls-private-key-file=${layout.apiServer.keyFile}`,
      `--client-ca-file=${layout.caFile}`,
      `--token-auth-file=${layout.tokensFile}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${layout.serviceAccountKeyFile}`,
      `--service-account-signing-key-file=${layout.serviceAccountKeyFile}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      "--allow-privileged",
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      ...(layout.options.apiServerArgs ?? []),
    ],
  };
}

function controllerManager(layout: Layout): ProgramStart {
  const wait = layout.options.maxWaitForUnmountSeconds;
  return {
    name: "kube-controller-manager",
    program: path.join(layout.programs.kubernetes, "kube-controller-manager"),
    args: [
      `--kubeconfig=${layout.kubeconfigs["kube-controller-manager"]}`,
      `--controllers=${controllers.join(",")}`,
      `--service-account-private-key-file=${layout.serviceAccountKeyFile}`,
      `--root-ca-file=${layout.caFile}`,
      ...alone,
      ...(layout.options.kcmArgs ?? []),
    ],
    ...(wait === undefined ? {} : { env: { KCM_MAX_WAIT_FOR_UNMOUNT: `${wait}s` } }),
  };
}

function scheduler(layout: Layout): ProgramStart {
  return {
    name: "kube-scheduler",
    program: path.join(layout.programs.kubernetes, "kube-scheduler"),
    args: [`--kubeconfig=${layout.kubeconfigs["kube-scheduler"]}`, ...alone],
  };
}

/** One of each, so no election; nobody asks for metrics, so no port that could be taken. */
const alone = ["--leader-elect=false", "--secure-port=0"];

function csiController(layout: Layout): ProgramStart {
  return {
    name: "ebs-csi-controller",
    program: path.join(layout.programs.csi, "ebs-csi-controller"),
    args: [`-socket=${csiSocket(layout)}`, `-ec2=${layout.options.ec2Url}`],
  };
}

function attacher(layout: Layout): ProgramStart {
  return {
    name: "csi-attacher",
    program: path.join(layout.programs.csi, "csi-attacher"),
    args: [
      `--kubeconfig=${layout.kubeconfigs["csi-attacher"]}`,
      `--csi-address=${csiSocket(layout)}`,
      "--leader-election=false",
      "--http-endpoint=",
      "--v=2",
      // As the EBS driver's chart sets them.
      "--timeout=6m",
      "--kube-api-qps=20",
      "--kube-api-burst=100",
      "--worker-threads=100",
      // The chart's 5 min between two tries of an attach that EC2 refuses would make a test wait that long.
      "--retry-interval-max=5s",
      ...(layout.options.attacherArgs ?? []),
    ],
  };
}

function csiSocket({ directory }: Layout): string {
  return path.join(directory, "csi.sock");
}
