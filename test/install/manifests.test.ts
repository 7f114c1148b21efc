import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { HOOK_LABEL } from "../../lib/drain/names.ts";
import { deployFolder } from "../../lib/install/deploy-folder.ts";
import type { InstallWay } from "../../lib/install/hook-container.ts";
import { INSTALL_DEFAULTS } from "../../lib/install/hook-install.ts";
import { type AnyInstall, installFiles, pullCheckFile } from "../../lib/install/install-files.ts";
import { hookRbacManifests } from "../../lib/kubernetes/rbac-manifests.ts";

const IMAGE = "registry.example.com/ebs-drain-hook:1.2.3";
const INSTALL: AnyInstall = {
  ...INSTALL_DEFAULTS,
  image: IMAGE,
  nodeLabels: {},
  daemonSets: ["ebs-csi-node"],
  hostNetwork: false,
};
const WAYS: readonly InstallWay[] = ["admission-policy", "kustomize", "server-side-apply"];

function textOf(way: InstallWay, change: Partial<AnyInstall> = {}): string {
  return installFiles(way, { ...INSTALL, ...change })
    .map(({ text }) => text)
    .join("---\n");
}

function documentsOf(text: string): readonly Readonly<Record<string, unknown>>[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Readonly<Record<string, unknown>>);
}

/** The hook's container of a way that changes a DaemonSet. */
function containersOf(change: Partial<AnyInstall> = {}): readonly Readonly<Record<string, unknown>>[] {
  const [, daemonSet] = installFiles("server-side-apply", { ...INSTALL, ...change });
  const [parsed] = documentsOf(daemonSet?.text ?? "");
  const { spec } = parsed as unknown as {
    readonly spec: { readonly template: { readonly spec: { readonly containers: [] } } };
  };
  return spec.template.spec.containers;
}

function hookOf(change: Partial<AnyInstall> = {}): Readonly<Record<string, unknown>> {
  return containersOf(change).find(({ name }) => name === "ebs-drain-hook") ?? {};
}

describe("hook/deploy", () => {
  it.each(deployFolder())("has $name as the code makes it (npm run manifests)", async ({ name, text }) => {
    const file = path.join(import.meta.dirname, "..", "..", "hook", "deploy", name);
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it("names no image that could be pulled", () => {
    const images = deployFolder().flatMap(({ text }) =>
      [...text.matchAll(/^\s*'?image'?: (?:dyn\()?'?([^')\s]+)/gmu)].map(([, image]) => image),
    );
    expect(images).toHaveLength(4);
    expect(new Set(images)).toEqual(new Set(["IMAGE"]));
  });
});

describe("each way to install the hook", () => {
  it.each(WAYS)("brings exactly the roles of the permission table: %s", (way) => {
    const roles = documentsOf(textOf(way)).filter(({ apiVersion }) => String(apiVersion).startsWith("rbac."));
    expect(roles).toEqual(hookRbacManifests());
  });

  it.each(WAYS)("binds them where the driver runs, under its account: %s", (way) => {
    const place = { namespace: "storage", serviceAccount: "csi-node" };
    const roles = documentsOf(textOf(way, place)).filter(({ apiVersion }) =>
      String(apiVersion).startsWith("rbac."),
    );
    expect(roles).toEqual(hookRbacManifests(place));
    expect(textOf(way, place)).not.toContain("kube-system");
  });

  it.each(WAYS)("sets the label that a hand-over looks for (D10): %s", (way) => {
    expect(textOf(way)).toContain(HOOK_LABEL.replace("/", way === "admission-policy" ? "~1" : "/"));
  });

  it.each(WAYS)("has no startupProbe and no livenessProbe of the hook: %s", (way) => {
    expect(textOf(way)).not.toContain("startupProbe");
    expect(hookOf()).not.toHaveProperty("livenessProbe");
  });
});

describe("the hook's container", () => {
  it("may do nothing on the node, and sees the driver's socket folder, read-only, and nothing else of it (H12)", () => {
    expect(hookOf()).toMatchObject({
      image: IMAGE,
      securityContext: {
        runAsUser: 0,
        privileged: false,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
        seccompProfile: { type: "RuntimeDefault" },
      },
      volumeMounts: [{ name: "plugin-dir", mountPath: "/csi", readOnly: true }],
      resources: { limits: { memory: "96Mi" } },
    });
  });

  it("runs as no user of the host where the driver's end need not be noticed", () => {
    const hook = hookOf({ unprivileged: true });
    expect(hook).toMatchObject({ securityContext: { runAsUser: 65_532, runAsNonRoot: true } });
    expect(hook).not.toHaveProperty("volumeMounts");
    expect(JSON.stringify(hook)).not.toContain("CSI_SOCKET");
  });

  it("is asked, and listens, at the node's loopback where the pods use the node's network", () => {
    const containers = containersOf({ hostNetwork: true });
    const hosts = containers.map(({ lifecycle }) => lifecycle);
    expect(hosts).toEqual([
      {
        preStop: {
          httpGet: { host: "127.0.0.1", path: "/pre-stop?container=node-driver-registrar", port: 9810 },
        },
      },
      { preStop: { httpGet: { host: "127.0.0.1", path: "/pre-stop?container=ebs-drain-hook", port: 9810 } } },
    ]);
    expect(containers[1]?.["env"]).toContainEqual({ name: "EBS_DRAIN_HOOK_HOST", value: "127.0.0.1" });
  });

  it("knows how many containers ask it: three, or two beside an add-on that keeps its own (H4)", () => {
    const counts = (["kustomize", "server-side-apply"] as const).map(
      (way) => /name: EBS_DRAIN_HOOK_CONTAINERS\s+value: "(\d)"/u.exec(textOf(way))?.[1],
    );
    expect(counts).toEqual(["3", "2"]);
    expect(textOf("admission-policy")).toContain("{'name': 'EBS_DRAIN_HOOK_CONTAINERS', 'value': '3'}");
  });
});

describe("the admission policy", () => {
  it("lets the driver start without the hook where it cannot be added", () => {
    const [policy] = documentsOf(textOf("admission-policy")).filter(
      ({ kind }) => kind === "MutatingAdmissionPolicy",
    );
    expect(policy?.["spec"]).toMatchObject({ failurePolicy: "Ignore", reinvocationPolicy: "IfNeeded" });
    expect(policy).toHaveProperty("spec.mutations.length", 1);
  });

  it("asks for Nodes only where a few are chosen", () => {
    expect(textOf("admission-policy")).not.toContain("paramKind");
    expect(textOf("admission-policy", { nodeLabels: { canary: "true" } })).toContain(
      "parameterNotFoundAction: Allow",
    );
  });
});

describe("server-side apply", () => {
  it("names nothing that an add-on names too: neither the driver's container nor the grace period", () => {
    const text = textOf("server-side-apply");
    expect(containersOf().map(({ name }) => name)).toEqual(["node-driver-registrar", "ebs-drain-hook"]);
    expect(text.replace(/^#.*$/gmu, "")).not.toMatch(/terminationGracePeriodSeconds|ebs-plugin/u);
  });

  it("is removed by a file that names the DaemonSet and nothing of it", () => {
    const [, , remove] = installFiles("server-side-apply", INSTALL);
    expect(documentsOf(remove?.text ?? "")).toEqual([
      {
        apiVersion: "apps/v1",
        kind: "DaemonSet",
        metadata: { name: "ebs-csi-node", namespace: "kube-system" },
      },
    ]);
  });
});

describe("the pull check", () => {
  it("runs the image's Node on the chosen nodes, with no right and no token", () => {
    const [daemonSet] = documentsOf(pullCheckFile({ ...INSTALL, nodeLabels: { pool: "db" } }).text);
    expect(daemonSet).toMatchObject({
      kind: "DaemonSet",
      spec: {
        template: {
          spec: {
            automountServiceAccountToken: false,
            nodeSelector: { "kubernetes.io/os": "linux", pool: "db" },
            tolerations: [{ operator: "Exists" }],
            containers: [{ image: IMAGE, securityContext: { runAsNonRoot: true } }],
          },
        },
      },
    });
  });
});
