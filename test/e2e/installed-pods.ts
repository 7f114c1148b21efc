/** CSI node pods as the API server makes them of a description, and what an install did to them. */
import type { ApiObject } from "./api-objects.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { CsiContainer, CsiPodSpec, DaemonSet } from "./csi-chart.ts";
import { eventually } from "./eventually.ts";

export interface CsiPod extends ApiObject {
  readonly spec: CsiPodSpec;
}

export const HOOK = "ebs-drain-hook";
export const LABEL = "ebs-drain.dev/hook";

/** What becomes of a pod of this template when it is created; nothing is kept. */
export async function admitted(
  { api }: ControlPlane,
  { metadata, spec }: DaemonSet,
  change: Readonly<Record<string, unknown>> = {},
): Promise<CsiPod> {
  const { namespace } = metadata;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { generateName: "csi-", labels: spec.template.metadata.labels },
    spec: { ...spec.template.spec, ...change },
  };
  const { status, body } = await api.request("POST", `/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod);
  if (status !== 201) throw new Error(`the pod is refused: ${status} ${JSON.stringify(body)}`);
  return body as CsiPod;
}

/** The pods that the DaemonSet controller made. */
export async function podsOf({ api }: ControlPlane, daemonSet: DaemonSet): Promise<readonly CsiPod[]> {
  const { namespace, name } = daemonSet.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3D${name}`;
  const { items } = await api.list<CsiPod>(path);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

export async function untilPods(
  controlPlane: ControlPlane,
  daemonSet: DaemonSet,
  isRight: (pods: readonly CsiPod[]) => boolean,
): Promise<readonly CsiPod[]> {
  return eventually(`the pods of ${daemonSet.metadata.name} are as they should be`, async () => {
    const pods = await podsOf(controlPlane, daemonSet);
    return isRight(pods) ? pods : undefined;
  });
}

export function isHooked({ metadata }: ApiObject): boolean {
  return metadata.labels?.[LABEL] !== undefined;
}

export function containerOf({ spec }: { readonly spec: CsiPodSpec }, name: string): CsiContainer {
  const found = spec.containers.filter((container) => container.name === name);
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`${found.length} containers ${name}`);
  return only;
}

/** Each container's preStop handler. */
export function hooksOf({ spec }: { readonly spec: CsiPodSpec }): Readonly<Record<string, unknown>> {
  return Object.fromEntries(spec.containers.map(({ name, lifecycle }) => [name, lifecycle?.preStop]));
}

/** The name of the node that the DaemonSet controller made the pod for. */
export function nodeOf({ spec }: CsiPod): string {
  return /"metadata\.name","operator":"In","values":\["([^"]+)"\]/u.exec(JSON.stringify(spec))?.[1] ?? "";
}
