import { describe, expect, it } from "vitest";
import { SettingsError, readSettings } from "../../hook/settings.ts";

const ENOUGH = {
  KUBERNETES_SERVICE_HOST: "10.96.0.1",
  KUBERNETES_SERVICE_PORT: "443",
  NODE_NAME: "n1",
  POD_NAME: "ebs-csi-node-x",
  POD_NAMESPACE: "kube-system",
  POD_UID: "u1",
};

function problemsOf(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    readSettings(environment);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe("the hook's settings", () => {
  it("need what the kubelet and the downward API give, and nothing else", () => {
    expect(readSettings(ENOUGH)).toEqual({
      node: "n1",
      pod: { namespace: "kube-system", name: "ebs-csi-node-x", uid: "u1" },
      host: "::",
      port: 9810,
      apiServer: "https://10.96.0.1:443",
      serviceAccount: "/var/run/secrets/kubernetes.io/serviceaccount",
      containers: 3,
      graceSeconds: 30,
      criticalBudgetSeconds: 30,
      drivers: ["ebs.csi.aws.com"],
      drainTaints: ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"],
    });
  });

  it("take an API server's IPv6 address, several drivers and other taints (C31)", () => {
    const settings = readSettings({
      ...ENOUGH,
      KUBERNETES_SERVICE_HOST: "fd00::1",
      EBS_DRAIN_HOOK_DRIVERS: "ebs.csi.aws.com, other.example.com",
      EBS_DRAIN_HOOK_DRAIN_TAINTS: "example.com/ending",
      EBS_DRAIN_HOOK_CSI_SOCKET: "/csi/csi.sock",
    });
    expect(settings).toMatchObject({
      apiServer: "https://[fd00::1]:443",
      drivers: ["ebs.csi.aws.com", "other.example.com"],
      drainTaints: ["example.com/ending"],
      csiSocket: "/csi/csi.sock",
    });
  });

  it("tell all their problems at once", () => {
    const problems = problemsOf({
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      KUBERNETES_SERVICE_PORT: "443",
      NODE_NAME: "n1",
      EBS_DRAIN_HOOK_PORT: "http",
      EBS_DRAIN_HOOK_GRACE_SECONDS: "-1",
      EBS_DRAIN_HOOK_DRIVERS: "a,,b",
      EBS_DRAIN_HOOK_GRACE_SECOND: "60",
    });
    expect(problems).toEqual([
      "EBS_DRAIN_HOOK_GRACE_SECOND is not known. Did you mean EBS_DRAIN_HOOK_GRACE_SECONDS?",
      "POD_NAMESPACE is missing. Set it by the downward API from metadata.namespace.",
      "POD_NAME is missing. Set it by the downward API from metadata.name.",
      "POD_UID is missing. Set it by the downward API from metadata.uid.",
      'EBS_DRAIN_HOOK_PORT: expected a whole number from 0 to 65535, got "http".',
      'EBS_DRAIN_HOOK_GRACE_SECONDS: expected a whole number from 0 to 86400, got "-1".',
      'EBS_DRAIN_HOOK_DRIVERS: expected names with commas between them, got "a,,b".',
    ]);
  });
});
