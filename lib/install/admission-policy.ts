/**
 * The hook by a MutatingAdmissionPolicy: the API server adds it to each CSI node pod as the pod is created. Add-on updates, rollouts
 * and renamed drivers do not matter to it.
 */
import { HOOK_LABEL } from "../drain/names.ts";
import { HOOK_OBJECTS, hookRbacManifests } from "../kubernetes/rbac-manifests.ts";
import { Cel, celOf, celText } from "./cel.ts";
import {
  HOOK_CONTAINER,
  RESTART_GRACE_SECONDS,
  SOCKET_FOLDER,
  SOCKET_PATH,
  hookContainer,
  hookLabel,
  preStop,
  preStopPath,
} from "./hook-container.ts";
import { CHART, type HookInstall } from "./hook-install.ts";

export interface AdmissionPolicyInstall extends HookInstall {
  /** Only pods of nodes with these labels: for a start on a few. Empty: all. */
  readonly nodeLabels: Readonly<Record<string, string>>;
}

const API = "admissionregistration.k8s.io/v1";

export function admissionPolicyHeader({ namespace }: HookInstall): string {
  const restart = `kubectl rollout restart -n ${namespace} daemonset/${CHART.daemonSet}`;
  return `The hook of ebs-drain, added by the API server (1.36 or later) to each pod of the EBS CSI driver on Linux as it is created.
  install:  kubectl apply -f <this file>, then restart the driver's pods: ${restart}
  remove:   kubectl delete -f <this file>, then restart them again`;
}

/** RBAC, the policy and its binding. */
export function admissionPolicyManifests(install: AdmissionPolicyInstall): readonly object[] {
  const { namespace, serviceAccount } = install;
  return [...hookRbacManifests({ namespace, serviceAccount }), policy(install), binding(install)];
}

function policy(install: AdmissionPolicyInstall): object {
  const isCanary = Object.keys(install.nodeLabels).length > 0;
  return {
    apiVersion: API,
    kind: "MutatingAdmissionPolicy",
    metadata: { name: HOOK_OBJECTS },
    spec: {
      // A pod of the driver without the hook is better than none.
      failurePolicy: "Ignore",
      reinvocationPolicy: "IfNeeded",
      ...(isCanary ? { paramKind: { apiVersion: "v1", kind: "Node" } } : {}),
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE"],
            resources: ["pods"],
            scope: "Namespaced",
          },
        ],
      },
      matchConditions: [
        { name: "of-linux", expression: IS_LINUX },
        {
          name: "registers-the-driver",
          expression: `${CONTAINERS}.exists(c, ${isRegistrar(install.driver)})`,
        },
        { name: "runs-the-driver", expression: `${CONTAINERS}.exists(c, ${IS_DRIVER})` },
        ...(isCanary ? [{ name: "of-a-chosen-node", expression: IS_OF_PARAM_NODE }] : []),
      ],
      variables: variables(install),
      // One: each mutation that fails is left out by itself, and hooks without their server are worse than neither.
      mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: patch(install) } }],
    },
  };
}

function binding({ nodeLabels }: AdmissionPolicyInstall): object {
  const isCanary = Object.keys(nodeLabels).length > 0;
  const paramRef = { selector: { matchLabels: nodeLabels }, parameterNotFoundAction: "Allow" };
  return {
    apiVersion: API,
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name: HOOK_OBJECTS },
    spec: { policyName: HOOK_OBJECTS, ...(isCanary ? { paramRef } : {}) },
  };
}

const CONTAINERS = "object.spec.containers";
const WORDS = "(c.?command.orValue([]) + c.?args.orValue([]))";
const VALUES = "c.?env.orValue([]).map(e, e.?value.orValue(''))";

/** The DaemonSet controller names the pod's node in an affinity: the pod is bound later. */
const NODE_TERMS =
  "object.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])";

/** By selector, or by each of the affinity's terms, which are alternatives. */
const IS_LINUX = [
  "object.spec.?nodeSelector[?'kubernetes.io/os'].orValue('') == 'linux'",
  `(size(${NODE_TERMS}) > 0 && ${NODE_TERMS}.all(t, t.?matchExpressions.orValue([]).exists(e, e.key == 'kubernetes.io/os' && e.operator == 'In' && e.values == ['linux'])))`,
].join(" || ");

/** By what it does: it tells the kubelet where the driver's socket is. */
function isRegistrar(driver: string): string {
  const folder = celText(`/plugins/${driver}/`);
  return `${WORDS}.exists(w, w.contains('kubelet-registration-path')) && (${WORDS} + ${VALUES}).exists(w, w.contains(${folder}))`;
}

/** By what it does: `aws-ebs-csi-driver node --endpoint=…`, in command or arguments. */
const IS_DRIVER = `${WORDS}.exists(w, w == 'node') && ${WORDS}.exists(w, w.startsWith('--endpoint'))`;

const IS_OF_PARAM_NODE = `${NODE_TERMS}.exists(t, t.?matchFields.orValue([]).exists(f, f.key == 'metadata.name' && f.values.exists(v, v == params.metadata.name)))`;

function variables({ driver, graceSeconds }: HookInstall): readonly object[] {
  const indices = `lists.range(size(${CONTAINERS}))`;
  const of = (condition: string): string =>
    `${indices}.filter(i, [${CONTAINERS}[i]].exists(c, ${condition}))`;
  const folder = `/plugins/${driver}`;
  const path = "v.?hostPath.?path.orValue('')";
  const grace = "object.spec.?terminationGracePeriodSeconds.orValue(30)";
  return [
    ["hostNetwork", "object.spec.?hostNetwork.orValue(false)"],
    ["host", "variables.hostNetwork ? '127.0.0.1' : ''"],
    ["held", of(`(${isRegistrar(driver)}) || (${IS_DRIVER})`)],
    ["there", `${CONTAINERS}.exists(c, c.name == ${celText(HOOK_CONTAINER)})`],
    ["grace", `${grace} > ${graceSeconds} ? ${grace} : ${graceSeconds}`],
    [
      "socketVolumes",
      `object.spec.?volumes.orValue([]).filter(v, ${path}.endsWith(${celText(folder)}) || ${path}.endsWith(${celText(`${folder}/`)})).map(v, v.name)`,
    ],
  ].map(([name, expression]) => ({ name, expression }));
}

/** Done twice it makes the same pod. */
function patch(install: HookInstall): string {
  const add = (path: string, value: unknown): string =>
    `JSONPatch{op: 'add', path: ${path}, value: ${celOf(value)}}`;
  const place = (field: string): string => `'/spec/containers/' + string(i) + '/${field}'`;
  const [label = ""] = Object.values(hookLabel("admission-policy"));
  return [
    `variables.held.map(i, ${add(place("lifecycle"), preStop(new Cel(`${celText(preStopPath(""))} + ${CONTAINERS}[i].name`), HOST))})`,
    `variables.held.filter(i, has(${CONTAINERS}[i].livenessProbe)).map(i, ${add(place("livenessProbe/terminationGracePeriodSeconds"), RESTART_GRACE_SECONDS)})`,
    `[${add("'/spec/terminationGracePeriodSeconds'", new Cel("variables.grace"))}]`,
    `(has(object.metadata.labels) ? [] : [${add("'/metadata/labels'", {})}])`,
    `[${add(celText(`/metadata/labels/${HOOK_LABEL.replace("/", "~1")}`), label)}]`,
    `(variables.there ? [] : [${add("'/spec/containers/-'", hookContainer(install, PLACE))}])`,
  ].join("\n+ ");
}

const HOST = new Cel("variables.host");

/** What the pod's own description says, where a manifest has to know. */
const PLACE = {
  probeHost: HOST,
  listenHost: new Cel("variables.hostNetwork ? '127.0.0.1' : '::'"),
  grace: new Cel("string(variables.grace)"),
  hooks: 3,
  socket: {
    mounts: new Cel(
      `variables.socketVolumes.map(name, {'name': dyn(name), 'mountPath': dyn(${celText(SOCKET_FOLDER)}), 'readOnly': dyn(true)})`,
    ),
    path: new Cel(`size(variables.socketVolumes) > 0 ? ${celText(SOCKET_PATH)} : ''`),
  },
};
