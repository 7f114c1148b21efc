import { describe, expect, it } from "vitest";
import type { AttachmentView } from "../../lib/drain/cluster.ts";
import type { VolumeVerdict } from "../../lib/drain/decision.ts";
import type { Ec2AttachmentView } from "../../lib/drain/machine.ts";
import { type Observation, UNREAD } from "../../lib/drain/observation.ts";
import type { Policy } from "../../lib/drain/policy.ts";
import { understand } from "../../lib/drain/situation.ts";
import { dataVolumes, managedInUse, parseVolumeInUse } from "../../lib/drain/volumes.ts";
import {
  type Differs,
  INSTANCE,
  OTHER_INSTANCE,
  ROOT,
  attachment,
  claim,
  daemonPod,
  ec2Attachment,
  failed,
  inUse,
  instance,
  node,
  observation,
  pod,
  policy,
  read,
  volumes,
} from "./observation-builder.ts";

function verdictsOf(differs: Differs, choices: Partial<Policy> = {}): readonly VolumeVerdict[] {
  return understand(observation(differs), policy(choices)).verdicts;
}

/** `attached blocks`, `leaked`, …: one per volume. */
function inBrief(differs: Differs, choices: Partial<Policy> = {}): readonly string[] {
  return verdictsOf(differs, choices).map(({ verdict, blocks }) => (blocks ? `${verdict} blocks` : verdict));
}

/** One volume, vol-1: as Kubernetes has it attached, and as EC2 shows it where EC2 was asked. */
function one(
  view: Partial<AttachmentView> | undefined,
  ec2: Partial<Ec2AttachmentView> | "nowhere" | "not asked",
  differs: Differs = {},
): Differs {
  return {
    attachments: read(view === undefined ? [] : [attachment("vol-1", view)]),
    volumes: volumes("vol-1"),
    ec2Volumes:
      ec2 === "not asked" ? UNREAD : read(ec2 === "nowhere" ? [ROOT] : [ROOT, ec2Attachment("vol-1", ec2)]),
    ...differs,
  };
}

const DELETING = { deleting: true };

describe("D11: a volume's verdict, from both sources", () => {
  it.each<[string, Differs, string]>([
    ["attached, EC2 not asked", one({}, "not asked"), "attached blocks"],
    ["its detach asked for, EC2 not asked", one(DELETING, "not asked"), "detaching blocks"],
    ["attached on both sides", one({}, {}), "attached blocks"],
    ["EC2 still attaches it", one({}, { state: "attaching" }), "attached blocks"],
    ["its detach asked for, EC2 still shows it attached", one(DELETING, {}), "detaching blocks"],
    ["EC2 detaches it", one(DELETING, { state: "detaching" }), "detaching blocks"],
    ["EC2 says busy: still mounted", one(DELETING, { state: "busy" }), "busy blocks"],
    ["attachment gone, EC2 still attached", one(undefined, {}), "attached blocks"],
    ["attachment gone, EC2 attaches", one(undefined, { state: "attaching" }), "attached blocks"],
    ["attachment gone, EC2 says busy", one(undefined, { state: "busy" }), "busy blocks"],
    ["attachment gone, EC2 detaches", one(undefined, { state: "detaching" }), "detaching blocks"],
    ["EC2 has nothing of it anywhere", one({}, "nowhere", { elsewhere: read([]) }), "leaked"],
    ["EC2's side unknown: leaked until told otherwise", one({}, "nowhere"), "leaked"],
    [
      "attached elsewhere by now",
      one({}, "nowhere", { elsewhere: read([{ volumeId: "vol-1", instances: [OTHER_INSTANCE] }]) }),
      "moved",
    ],
    ["another driver's, whatever it is (C25)", one({ attacher: "nfs.csi.k8s.io" }, "not asked"), "foreign"],
    [
      "node-local: a handle that EC2 never hears of",
      one({ inlineHandle: "local-ebs://nvme1" }, "nowhere"),
      "local",
    ],
  ])("%s", (_what, differs, expected) => {
    expect(inBrief(differs)).toEqual([expected]);
  });

  it("takes EC2's own instance as no other place", () => {
    const differs = one({}, "nowhere", { elsewhere: read([{ volumeId: "vol-1", instances: [INSTANCE] }]) });
    expect(inBrief(differs)).toEqual(["leaked"]);
  });

  it("says why in words: the failure of a detach, and which source said what", () => {
    const [verdict] = verdictsOf(one({ deleting: true, detachError: "timed out" }, "not asked"));
    expect(verdict).toMatchObject({ handle: "vol-1", attachment: "csi-vol-1", volumeName: "pv-of-vol-1" });
    expect(verdict?.why).toContain("timed out");
    expect(verdictsOf(one({}, { state: "busy" }))[0]?.why).toContain("busy");
  });

  it("looks at all drivers of the policy, and at none beside", () => {
    const other = one({ attacher: "ebs.csi.eks.amazonaws.com" }, "not asked");
    expect(inBrief(other)).toEqual(["foreign"]);
    expect(inBrief(other, { drivers: ["ebs.csi.eks.amazonaws.com"] })).toEqual(["attached blocks"]);
  });

  it("knows an in-tree volume by the handle in the attachment itself", () => {
    const { volumeName: _none, ...inline } = attachment("vol-9", { inlineHandle: "vol-9" });
    expect(inBrief({ attachments: read([inline]), ec2Volumes: read([ec2Attachment("vol-9")]) })).toEqual([
      "attached blocks",
    ]);
  });
});

describe("D11: a volume that a pod of the node itself wants", () => {
  const logs = daemonPod("logs", { claims: ["data"] });
  const wanted = (differs: Differs = {}): Differs =>
    one({}, {}, { claims: claim("data", "vol-1"), pods: read([logs]), ...differs });

  it("is pinned, and named with its pod", () => {
    expect(inBrief(wanted())).toEqual(["pinned"]);
    expect(verdictsOf(wanted())[0]?.why).toContain("shop/logs");
  });

  it("is pinned by a volume named in the pod itself", () => {
    const inline = daemonPod("logs", { inlineHandles: ["vol-1"] });
    expect(inBrief(wanted({ claims: {}, pods: read([inline]) }))).toEqual(["pinned"]);
  });

  it("is pinned where only EC2 still shows it", () => {
    expect(inBrief({ ...wanted(), attachments: read([]) })).toEqual(["pinned"]);
  });

  it("blocks once that pod is ending or final: it is unmounted only after that", () => {
    for (const phase of ["Succeeded", "Failed"] as const) {
      const final = daemonPod("logs", { claims: ["data"], phase });
      expect(inBrief(wanted({ pods: read([final]) }))).toEqual(["attached blocks"]);
    }
    const ending = daemonPod("logs", { claims: ["data"], deleting: true });
    expect(inBrief(wanted({ pods: read([ending]) }))).toEqual(["attached blocks"]);
  });

  it("blocks where an ordinary pod wants it", () => {
    expect(inBrief(wanted({ pods: read([pod("web", { claims: ["data"] })]) }))).toEqual(["attached blocks"]);
  });

  it("blocks where the claim of that name is another namespace's", () => {
    const elsewhere = daemonPod("logs", { namespace: "bank", claims: ["data"] });
    expect(inBrief(wanted({ pods: read([elsewhere]) }))).toEqual(["attached blocks"]);
  });
});

describe("D11: what only the kubelet still lists", () => {
  it("blocks while EC2 was not asked: a finished pod's volume is unmounted after its phase is final", () => {
    const differs = { node: read(node({ volumesInUse: inUse("vol-1") })) };
    expect(inBrief(differs)).toEqual(["attached blocks"]);
    expect(inBrief({ ...differs, ec2Volumes: read([ROOT]) })).toEqual([]);
  });

  it("is told once where an attachment tells it already", () => {
    expect(inBrief({ ...one({}, "not asked"), node: read(node({ volumesInUse: inUse("vol-1") })) })).toEqual([
      "attached blocks",
    ]);
  });

  it("counts managed volumes only", () => {
    const names = [
      ...inUse("vol-1", "local-ebs://nvme1"),
      "kubernetes.io/csi/nfs.csi.k8s.io^share",
      "kubernetes.io/aws-ebs/vol-2",
      "nonsense",
    ];
    expect(managedInUse(names, policy())).toEqual(["vol-1"]);
  });

  it("reads a handle with the separator in it whole", () => {
    expect(parseVolumeInUse("kubernetes.io/csi/a.b^x^y")).toEqual({ driver: "a.b", handle: "x^y" });
    expect(parseVolumeInUse("kubernetes.io/csi/^x")).toBeUndefined();
  });
});

describe("EC2's attachments that are nobody's to wait for", () => {
  it.each<[string, Differs, readonly string[]]>([
    ["the root volume", { ec2Volumes: read([ROOT]) }, []],
    [
      "a disk of the launch template: no tag, no VolumeAttachment",
      { ec2Volumes: read([ROOT, ec2Attachment("vol-scratch", { csi: false, device: "/dev/xvdb" })]) },
      [],
    ],
    [
      "a volume without a tag counts once Kubernetes had it attached here",
      {
        ec2Volumes: read([ec2Attachment("vol-static", { csi: false })]),
        memory: { handles: ["vol-static"] },
      },
      ["attached blocks"],
    ],
    [
      "a volume without a tag counts where a claim of the node's pods is bound to it",
      {
        ec2Volumes: read([ec2Attachment("vol-static", { csi: false })]),
        claims: claim("data", "vol-static"),
      },
      ["attached blocks"],
    ],
  ])("%s", (_what, differs, expected) => {
    expect(inBrief(differs)).toEqual(expected);
  });

  it("are told from the root volume by the device that EC2 named, in this look or an earlier one", () => {
    const seen = (differs: Differs): readonly string[] | undefined =>
      dataVolumes(observation({ ec2Volumes: read([ROOT, ec2Attachment("vol-1")]), ...differs }))?.map(
        ({ volumeId }) => volumeId,
      );
    expect(seen({})).toEqual(["vol-1"]);
    expect(seen({ instance: read(instance({ rootDevice: "/dev/xvdba" })) })).toEqual(["vol-root"]);
    expect(seen({ ec2Volumes: failed("ec2.listAttachedVolumes", "throttled") })).toBeUndefined();
  });
});

describe("an attachment whose PersistentVolume is missing", () => {
  const orphaned: Partial<Observation> = { attachments: read([attachment("vol-1")]), volumes: {} };

  it("does not block where EC2 shows nothing unexplained: no controller will ever remove it", () => {
    expect(inBrief({ ...orphaned, ec2Volumes: read([ROOT]) })).toEqual(["volumeless"]);
  });

  it("blocks until EC2 was asked, and while EC2 shows what may be behind it", () => {
    expect(inBrief(orphaned)).toEqual(["volumeless blocks"]);
    expect(inBrief({ ...orphaned, ec2Volumes: read([ec2Attachment("vol-x", { csi: false })]) })).toEqual([
      "volumeless blocks",
    ]);
  });
});
