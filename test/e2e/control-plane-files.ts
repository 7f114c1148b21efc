/** Everything that lies on disk before a control plane starts: certificates, tokens, kubeconfigs. */
import { randomBytes } from "node:crypto";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Programs } from "./build.ts";
import { CertificateAuthority, type Certificate, type Identity } from "./certificates.ts";
import { serverUrl, type ControlPlaneOptions, type Layout } from "./control-plane-programs.ts";
import { writeKubeconfig } from "./kubeconfig-file.ts";
import { freePorts } from "./ports.ts";
import { stateRoot } from "./run-settings.ts";

export interface Prepared {
  readonly layout: Layout;
  readonly authority: CertificateAuthority;
  readonly adminCertificate: Certificate;
  readonly kubeconfigPath: string;
  /** Bearer tokens by user. */
  readonly tokens: ReadonlyMap<string, string>;
}

const admin: Identity = { user: "admin", groups: ["system:masters"] };
/** The parts of the control plane are administrators, except the scheduler: its role comes with the API server. */
const parts = {
  "kube-controller-manager": { user: "system:kube-controller-manager", groups: ["system:masters"] },
  "kube-scheduler": { user: "system:kube-scheduler", groups: [] },
  "csi-attacher": {
    user: "system:serviceaccount:kube-system:ebs-csi-controller-sa",
    groups: ["system:masters"],
  },
} as const satisfies Record<keyof Layout["kubeconfigs"], Identity>;

export async function prepare(options: ControlPlaneOptions, programs: Programs): Promise<Prepared> {
  const directory = await mkdtemp(path.join(stateRoot() ?? tmpdir(), "ebs-drain-e2e-"));
  const authority = await CertificateAuthority.create(path.join(directory, "certificates"));
  const [apiPort = 0, etcdPort = 0, etcdPeerPort = 0] = await freePorts(3);
  const cluster = { server: serverUrl(apiPort), caFile: authority.caFile };
  const kubeconfig = async (name: string, { user }: Identity, certificate: Certificate) => {
    const file = path.join(directory, `${name}.kubeconfig`);
    await writeKubeconfig(file, cluster, { name: user, certificate });
    return file;
  };
  const part = async (name: keyof typeof parts) =>
    kubeconfig(name, parts[name], await authority.client(parts[name]));
  const users = [admin, ...(options.tokenUsers ?? [])];
  const tokens = new Map(users.map(({ user }) => [user, randomBytes(16).toString("hex")]));
  const layout: Layout = {
    options,
    programs,
    directory,
    apiPort,
    etcdPort,
    etcdPeerPort,
    caFile: authority.caFile,
    apiServer: await authority.server(),
    serviceAccountKeyFile: await authority.serviceAccountKey(),
    tokensFile: await writeTokens(directory, users, tokens),
    kubeconfigs: {
      "kube-controller-manager": await part("kube-controller-manager"),
      "kube-scheduler": await part("kube-scheduler"),
      "csi-attacher": await part("csi-attacher"),
    },
  };
  const adminCertificate = await authority.client(admin);
  const kubeconfigPath = await kubeconfig("admin", admin, adminCertificate);
  return { layout, authority, adminCertificate, kubeconfigPath, tokens };
}

/** The API server's own format: token, user, user id, groups. */
async function writeTokens(
  directory: string,
  users: readonly Identity[],
  tokens: ReadonlyMap<string, string>,
): Promise<string> {
  const file = path.join(directory, "tokens.csv");
  const lines = users.map(
    ({ user, groups }) => `${tokens.get(user)},"${user}","${user}","${groups.join(",")}"`,
  );
  await writeFile(file, `${lines.join("\n")}\n`, { mode: 0o600 });
  return file;
}
