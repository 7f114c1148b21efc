/** The hook's own process on a real API server, by a real service account's token and the roles of its manifest. */
import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { AuthorizationV1Api } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { formatWork } from "../../lib/drain/work-order.ts";
import { attachmentName } from "../../lib/engine/attachment-name.ts";
import { hookRules } from "../../lib/kubernetes/rbac-manifests.ts";
import { startAwsHttp } from "../../lib/sim/aws-http.ts";
import { SimulatedAutoScaling } from "../../lib/sim/auto-scaling.ts";
import { RealClock } from "../../lib/sim/clock.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { Random } from "../../lib/sim/random.ts";
import type { ClusterHarness } from "../contract/cluster-harness.ts";
import { describeNodeReadingContract } from "../contract/node-reading-contract.ts";
import { adapterReading, hookReading } from "../contract/node-reading.ts";
import type { ApiObject } from "./api-objects.ts";
import type { ControlPlane } from "./control-plane.ts";
import { eventually } from "./eventually.ts";
import {
  ACCOUNT,
  ATTACHMENTS,
  DRIVER,
  HookPod,
  type HookPodOptions,
  addRevisions,
  installAccount,
  requestToken,
  writeCredentials,
} from "./hook-pod.ts";
import { startQuietControlPlane, tokenConnection } from "./quiet-control-plane.ts";
import { realClusterHarness } from "./real-cluster-harness.ts";

let controlPlane: ControlPlane;
let harness: ClusterHarness;
let pod: HookPod | undefined;
beforeAll(async () => {
  controlPlane = await startQuietControlPlane();
  const admin = async () => controlPlane.tokenFor("admin");
  harness = await realClusterHarness(controlPlane.api, await tokenConnection(controlPlane, admin));
  await installAccount(controlPlane);
  await addRevisions(controlPlane);
});
afterEach(async () => {
  await pod?.stop();
  pod = undefined;
});
afterAll(async () => {
  await harness?.close();
  await controlPlane?.stop();
});

const CORDONED = { unschedulable: true };

async function startPod(options: HookPodOptions): Promise<HookPod> {
  pod = await HookPod.start(controlPlane, harness, options);
  return pod;
}

/** Whether it is still held a moment later. */
async function isHeld(answer: Promise<string>): Promise<boolean> {
  return Promise.race([answer.then(() => false), delay(500, true)]);
}

function workOf(change: Readonly<Record<string, unknown>> = {}, node = "") {
  return formatWork({
    id: "lifecycle-i-0f3a9c1d2b4e5f607-t3kq2w-0a1b2c3d",
    bootID: `boot-of-${node}`,
    group: "workers-a",
    hook: "ebs-drain",
    deadline: Date.now() + 3_600_000,
    cordoned: true,
    ignore: [],
    ...change,
  });
}

describe("the hook on a real API server", () => {
  it("answers at once on a node that stays (H1)", async () => {
    const hook = await startPod({ handles: ["vol-h1"] });
    expect(await hook.end()).toMatch(/^H1/u);
  });

  it("answers when the last attachment is gone, and an Event says so (H5, H10)", async () => {
    const hook = await startPod({ node: CORDONED, handles: ["vol-a", "vol-b"] });
    const answer = hook.end();
    await hook.untilHolding();
    await hook.detach("vol-a");
    expect(await isHeld(answer)).toBe(true);
    await hook.detach("vol-b");
    expect(await answer).toMatch(/^H5: no attachment of the node is left/u);
    expect(await harness.listEvents(hook.node)).toMatchObject([
      { type: "Normal", reason: "VolumesDetached", component: "ebs-drain-hook" },
    ]);
    expect((await hook.process.get("/metrics")).text).not.toMatch(/^ebs_drain_hook_api_errors_total\{/mu);
  });

  it.each<[string, HookPodOptions["node"]]>([
    ["Karpenter's taint", { taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] }],
    [
      "the out-of-service taint",
      { taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }] },
    ],
    [
      "a kubelet's shutdown",
      { ready: { status: "False", reason: "KubeletNotReady", message: "node is shutting down" } },
    ],
  ])("holds by %s (H2)", async (_, node) => {
    const hook = await startPod({ ...(node === undefined ? {} : { node }), handles: ["vol-h2"] });
    const answer = hook.end();
    await hook.untilHolding();
    expect(await isHeld(answer)).toBe(true);
    await controlPlane.api.patch("merge", `/api/v1/nodes/${hook.node}/status`, {
      status: { volumesInUse: [] },
    });
    await hook.detach("vol-h2");
    expect(await answer).toMatch(/^H5/u);
  });

  it("answers a rollout on a cordoned node at once (H3, C29)", async () => {
    const hook = await startPod({ node: CORDONED, handles: ["vol-h3"], revision: "rev-1" });
    expect(await hook.end()).toMatch(/^H3/u);
  });

  it("answers one container's restart on a cordoned node (H4)", async () => {
    const hook = await startPod({ node: CORDONED, handles: ["vol-h4"] });
    expect((await hook.process.get("/pre-stop?container=ebs-plugin")).text).toMatch(/^H4/u);
  });

  it("lets go when it is uncordoned (H6)", async () => {
    const hook = await startPod({ node: CORDONED, handles: ["vol-h6"] });
    const answer = hook.end();
    await hook.untilHolding();
    await hook.patchNode({ spec: { unschedulable: null, taints: null } });
    expect(await answer).toMatch(/^H6/u);
  });

  it("lets go before the pod's own grace ends, and names what is left (H8)", async () => {
    const hook = await startPod({ node: CORDONED, handles: ["vol-h8"], graceSeconds: 5 });
    expect(await hook.end()).toMatch(/^H8/u);
    expect(await harness.listEvents(hook.node)).toMatchObject([{ type: "Warning", reason: "HookDeadline" }]);
  });

  it("waits for no other driver's attachment and for none that `work` ignores (H5, C25)", async () => {
    const hook = await startPod({ handles: ["vol-pinned", "vol-own"] });
    const names = await attachmentsOf(hook.node);
    await harness.addAttachments([
      {
        name: `nfs-${hook.node}`,
        attacher: "nfs.csi.k8s.io",
        nodeName: hook.node,
        source: { volumeName: "pv-nfs" },
      },
    ]);
    await hook.detach("vol-own");
    const ignore = names.filter((name) => name !== attachmentName("vol-own", DRIVER, hook.node));
    await hook.patchNode({
      metadata: { annotations: { "ebs-drain.dev/work": workOf({ ignore }, hook.node) } },
    });
    expect(await hook.end()).toMatch(/^H5/u);
  });
});

describe("a hold", () => {
  it("outlives the API server's stop and start (H7)", async () => {
    const hook = await startPod({ node: CORDONED, handles: ["vol-h7"] });
    const answer = hook.end();
    await hook.untilHolding();
    await controlPlane.stopApiServer();
    await eventually("the hook noticed", () => hook.process.log().some((line) => line["kind"] === "network"));
    expect(await isHeld(answer)).toBe(true);
    await controlPlane.startApiServer();
    await hook.detach("vol-h7");
    expect(await answer).toMatch(/^H5/u);
  });

  it("goes on with the new token when the old one is refused (H7)", async () => {
    const hook = await startPod({ node: CORDONED, handles: ["vol-token"] });
    const answer = hook.end();
    await hook.untilHolding();
    await hook.writeToken("expired");
    await eventually("it is refused", () =>
      hook.process.log().some((line) => line["kind"] === "unauthenticated"),
    );
    expect(await isHeld(answer)).toBe(true);
    await hook.writeToken(await requestToken(controlPlane));
    await eventually("it is over", () =>
      hook.process.log().some((line) => line["message"] === "API trouble is over"),
    );
    await hook.detach("vol-token");
    expect(await answer).toMatch(/^H5/u);
  });

  it("ends when a thousand attachments are deleted at once (H5, H11)", async () => {
    const hook = await startPod({ node: CORDONED });
    const label = { node: hook.node };
    for (let start = 0; start < 1_000; start += 10) {
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => {
          const name = `many-${hook.node}-${start + index}`;
          return controlPlane.api.create(ATTACHMENTS, {
            apiVersion: "storage.k8s.io/v1",
            kind: "VolumeAttachment",
            metadata: { name, labels: label },
            spec: { attacher: DRIVER, nodeName: hook.node, source: { persistentVolumeName: name } },
          } as ApiObject);
        }),
      );
    }
    const answer = hook.end();
    await eventually("all are known", () =>
      hook.process.log().some((line) => String(line["reason"]).includes("and 995 more")),
    );
    await controlPlane.api.delete(`${ATTACHMENTS}?labelSelector=node%3D${hook.node}`);
    expect(await answer).toMatch(/^H5: no attachment of the node is left/u);
    expect(hook.process.log().find((line) => line["message"] === "answer")).toMatchObject({
      attachments: 1_000,
    });
  });
});

describeNodeReadingContract("the hook's client, with its service account's rights", async () => {
  const folder = await writeCredentials(controlPlane);
  const reading = hookReading(controlPlane.server, folder);
  const close = async () => {
    await reading.close();
    await rm(folder, { recursive: true });
  };
  return { arrange: harness, reading: { ...reading, close } };
});

describeNodeReadingContract("the drain's adapter", async () => {
  const admin = async () => controlPlane.tokenFor("admin");
  return { arrange: harness, reading: adapterReading(await tokenConnection(controlPlane, admin)) };
});

describe("the service account of the CSI node pods", () => {
  it.each(["default", "kube-system", "kube-node-lease"])(
    "may do in namespace %s what the hook's table says and nothing else",
    async (namespace) => {
      const everybody = await permitted("default", namespace);
      const ours = [...(await permitted(ACCOUNT, namespace))].filter((each) => !everybody.has(each));
      const rules = hookRules().filter((rule) => (rule.namespace ?? namespace) === namespace);
      const expected = rules.flatMap((rule) =>
        rule.verbs.map((verb) => `${verb} ${rule.resource}.${rule.apiGroup}`),
      );
      expect(ours.toSorted()).toEqual(expected.toSorted());
    },
  );
});

describe("a lifecycle action that was handed to the hook (H9)", () => {
  it("is completed at Auto Scaling by its token once the volume is gone", async () => {
    const { autoScaling, ...aws } = await startAws();
    const { instance, token } = await aws.terminating();
    const hook = await startPod({
      handles: ["vol-h9"],
      environment: {
        AWS_ENDPOINT_URL: aws.url,
        AWS_REGION: "eu-west-1",
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test",
      },
    });
    const work = workOf({ handedOver: hook.uid, token }, hook.node);
    await hook.patchNode({
      metadata: { annotations: { "ebs-drain.dev/work": work } },
      spec: { unschedulable: true },
    });
    const answer = hook.end();
    await hook.untilHolding();
    expect(autoScaling.activeActions(instance)).toHaveLength(1);
    await hook.detach("vol-h9");
    expect(await answer).toMatch(/^H5: .*lifecycle action completed$/mu);
    expect(autoScaling.activeActions(instance)).toEqual([]);
    await aws.close();
  });
});

async function attachmentsOf(node: string): Promise<readonly string[]> {
  const { items } = await controlPlane.api.list<ApiObject & { readonly spec: { readonly nodeName: string } }>(
    ATTACHMENTS,
  );
  return items.filter(({ spec }) => spec.nodeName === node).map(({ metadata }) => metadata.name);
}

/** Every verb on every resource that the service account has in the namespace, as `verb resource.group`. */
async function permitted(account: string, namespace: string): Promise<ReadonlySet<string>> {
  const connection = await tokenConnection(controlPlane, () => requestToken(controlPlane, account));
  const api = connection.makeApiClient(AuthorizationV1Api);
  const { status } = await api.createSelfSubjectRulesReview({ body: { spec: { namespace } } });
  await connection.close();
  return new Set(
    (status?.resourceRules ?? []).flatMap(({ verbs, resources = [], apiGroups = [] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
      ),
    ),
  );
}

const QUICK = [1, 3] as const;

/** The simulated AWS on a loopback port, with a group that has our lifecycle hook. */
async function startAws() {
  const clock = new RealClock();
  const delays = {
    pending: QUICK,
    stopping: QUICK,
    shuttingDown: QUICK,
    release: QUICK,
    attach: QUICK,
    detach: QUICK,
  };
  const ec2 = new SimulatedEc2({ clock, random: new Random(1), delays });
  const autoScaling = new SimulatedAutoScaling({
    clock,
    random: new Random(2),
    ec2,
    delays: { transition: QUICK },
  });
  const { url, close } = await startAwsHttp({ ec2, autoScaling });
  return {
    url,
    close,
    autoScaling,
    /** A machine in Terminating:Wait, and the token of its action. */
    terminating: async () => {
      const hooks = [{ name: "ebs-drain", heartbeatTimeout: 300, defaultResult: "CONTINUE" as const }];
      autoScaling.createGroup({ name: "workers-a", hooks });
      const instance = autoScaling.launch("workers-a");
      await eventually(
        "it is in service",
        () => autoScaling.member(instance)?.lifecycleState === "InService",
      );
      autoScaling.scaleIn(instance);
      const [action] = await eventually("it waits", () => {
        const actions = autoScaling.activeActions(instance);
        return actions.length > 0 ? actions : undefined;
      });
      return { instance, token: action?.token ?? "" };
    },
  };
}
