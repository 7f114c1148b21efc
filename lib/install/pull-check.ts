/** Proves before the install that every node can pull the hook's image and run it. */
import { HOOK_OBJECTS } from "../kubernetes/rbac-manifests.ts";
import type { HookInstall } from "./hook-install.ts";

const NAME = `${HOOK_OBJECTS}-pull-check`;

export interface PullCheckInstall extends HookInstall {
  /** Only nodes with these labels. Empty: all Linux nodes that can have the driver. */
  readonly nodeLabels: Readonly<Record<string, string>>;
}

/** A DaemonSet that does nothing: as soon as it is rolled out, each node has the image, and its Node runs there. */
export function pullCheckManifests(install: PullCheckInstall): readonly object[] {
  const labels = { "app.kubernetes.io/name": NAME };
  return [
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: NAME, namespace: install.namespace, labels },
      spec: {
        selector: { matchLabels: labels },
        // It may be everywhere at once; it is gone again in a minute.
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "100%" } },
        template: { metadata: { labels }, spec: podSpec(install) },
      },
    },
  ];
}

export function pullCheckHeader({ namespace }: HookInstall): string {
  const of = `-n ${namespace} daemonset/${NAME}`;
  return `Whether every node can pull and run the hook's image:
  kubectl apply -f <this file> && kubectl rollout status ${of} --timeout=10m
  kubectl get pods -n ${namespace} -l app.kubernetes.io/name=${NAME} -o wide   # which node cannot, and why
  kubectl delete -f <this file>`;
}

/** Of the driver's service account, for the pull secrets that it may name. */
function podSpec({ image, nodeLabels, serviceAccount }: PullCheckInstall) {
  const unable = {
    key: "eks.amazonaws.com/compute-type",
    operator: "NotIn",
    values: ["fargate", "auto", "hybrid"],
  };
  return {
    serviceAccountName: serviceAccount,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    nodeSelector: { "kubernetes.io/os": "linux", ...nodeLabels },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [unable] }],
        },
      },
    },
    tolerations: [{ operator: "Exists" }],
    containers: [
      {
        name: "pull-check",
        image,
        command: ["/usr/bin/node", "--max-old-space-size=24", "--eval", "setInterval(() => {}, 2 ** 30)"],
        resources: { requests: { cpu: "1m", memory: "16Mi" }, limits: { memory: "96Mi" } },
        securityContext: {
          runAsUser: 65_532,
          runAsGroup: 65_532,
          runAsNonRoot: true,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
          seccompProfile: { type: "RuntimeDefault" },
        },
      },
    ],
  };
}
