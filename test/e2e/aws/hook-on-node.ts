/** CSI node pods with the hook on stand-in kubelets: their preStop reaches the hook's own process, with a pod's own credentials. */
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HOOK_LABEL } from "../../../lib/drain/names.ts";
import { type HookProcess, startHook } from "../../hook/hook-process.ts";
import type { Pod } from "../api-objects.ts";
import { createAll } from "../create-all.ts";
import { eventually } from "../eventually.ts";
import { ACCOUNT, installAccount, requestToken } from "../hook-pod.ts";
import type { Machine } from "../machines.ts";
import { freePorts } from "../ports.ts";
import { REGION } from "../region.ts";
import { stateRoot } from "../run-settings.ts";
import { daemonSet } from "../workloads.ts";
import type { DeployedStage } from "./deployed-stage.ts";

const NAMESPACE = "kube-system";
const APP = "ebs-csi-node";
const CONTAINERS = ["ebs-plugin", "node-driver-registrar", "ebs-drain-hook"] as const;

export interface HookOnNode {
  readonly process: HookProcess;
  /** Uid of the CSI node pod that the hook belongs to. */
  readonly podUid: string;
  readonly stop: () => Promise<void>;
}

/** Installs the CSI driver's node pods on the scenario's machines, and starts the hook of this machine's pod. */
export async function startHookOn(
  stage: DeployedStage,
  machine: Machine,
  scenario: string,
): Promise<HookOnNode> {
  const { api, controlPlane, aws } = stage;
  const [port = 0] = await freePorts(1);
  await installAccount(controlPlane);
  await createAll(api, [nodePods(port, scenario)]);
  const pod = await eventually(`${APP} runs on ${machine.node}`, async () => {
    const { items } = await api.list<Pod>(`/api/v1/namespaces/${NAMESPACE}/pods`);
    return items.find(({ spec, status }) => spec.nodeName === machine.node && status?.phase === "Running");
  });
  const folder = await mkdtemp(path.join(stateRoot() ?? tmpdir(), "ebs-drain-pod-"));
  const tokenFile = path.join(folder, "token");
  await copyFile(controlPlane.caFile, path.join(folder, "ca.crt"));
  await writeFile(tokenFile, await requestToken(controlPlane));
  const server = new URL(controlPlane.server);
  const process = await startHook({
    NODE_NAME: machine.node,
    POD_NAMESPACE: NAMESPACE,
    POD_NAME: pod.metadata.name,
    POD_UID: pod.metadata.uid ?? "",
    KUBERNETES_SERVICE_HOST: server.hostname,
    KUBERNETES_SERVICE_PORT: server.port,
    EBS_DRAIN_HOOK_HOST: "127.0.0.1",
    EBS_DRAIN_HOOK_PORT: String(port),
    EBS_DRAIN_HOOK_SERVICE_ACCOUNT: folder,
    AWS_REGION: REGION,
    AWS_ENDPOINT_URL: aws.url,
    ...aws.podIdentity(tokenFile),
  });
  const stop = async (): Promise<void> => {
    await process.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { process, podUid: pod.metadata.uid ?? "", stop };
}

function nodePods(port: number, scenario: string) {
  return daemonSet({
    name: APP,
    namespace: NAMESPACE,
    nodeSelector: { scenario },
    labels: { [HOOK_LABEL]: "v1" },
    graceSeconds: 60,
    containers: CONTAINERS.map((name) => ({
      name,
      image: "stand-in",
      lifecycle: { preStop: { httpGet: { host: "127.0.0.1", port, path: `/pre-stop?container=${name}` } } },
    })),
  });
}

/** The session's name in the credentials that Pod Identity gives these pods. */
export function podSessionName(cluster: string): string {
  return `eks-${cluster}-${ACCOUNT}`;
}
