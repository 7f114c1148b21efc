/** A certificate authority for one control plane: the API server's certificate and its clients'. */
import { execFile } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const days = "2"; // longer than any test, too short to be of use to anybody who finds one

export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Who a client certificate speaks for: the API server reads the user from CN and the groups from O. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
}

export class CertificateAuthority {
  readonly #directory: string;
  readonly caFile: string;
  #issued = 0;

  private constructor(directory: string) {
    this.#directory = directory;
    this.caFile = path.join(directory, "ca.crt");
  }

  static async create(directory: string): Promise<CertificateAuthority> {
    await mkdir(directory, { recursive: true });
    const authority = new CertificateAuthority(directory);
    const keyFile = await authority.#key("ca");
    await openssl(
      ["req", "-x509", "-new", "-key", keyFile, "-subj", "/CN=ebs-drain-e2e", "-days", days],
      ["-addext", "basicConstraints=critical,CA:TRUE"],
      ["-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature", "-out", authority.caFile],
    );
    return authority;
  }

  /** Serves on the loopback interface and under the name of the cluster's own service. */
  server(): Promise<Certificate> {
    const names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    const altNames = ["IP:127.0.0.1", "IP:10.96.0.1", ...names.map((name) => `DNS:${name}`)].join(",");
    return this.#issue("/CN=kube-apiserver", [`subjectAltName=${altNames}`, "extendedKeyUsage=serverAuth"]);
  }

  client(identity: Identity): Promise<Certificate> {
    const groups = identity.groups.map((group) => `/O=${escaped(group)}`).join("");
    return this.#issue(`${groups}/CN=${escaped(identity.user)}`, ["extendedKeyUsage=clientAuth"]);
  }

  /** A key that signs service account tokens; no certificate belongs to it. */
  serviceAccountKey(): Promise<string> {
    return this.#key("service-accounts");
  }

  async #issue(subject: string, extensions: readonly string[]): Promise<Certificate> {
    const name = `issued-${this.#issued++}`;
    const file = (ending: string) => path.join(this.#directory, `${name}.${ending}`);
    const keyFile = await this.#key(name);
    await writeFile(file("ext"), extensions.join("\n"));
    await openssl(["req", "-new", "-key", keyFile, "-subj", subject, "-out", file("csr")]);
    await openssl(
      ["x509", "-req", "-in", file("csr"), "-days", days, "-extfile", file("ext"), "-out", file("crt")],
      // A serial number given, not counted in a file: several certificates may be issued at the same time.
      ["-CA", this.caFile, "-CAkey", path.join(this.#directory, "ca.key"), "-set_serial", serialNumber()],
    );
    return { certFile: file("crt"), keyFile };
  }

  async #key(name: string): Promise<string> {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const file = path.join(this.#directory, `${name}.key`);
    await writeFile(file, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
    return file;
  }
}

async function openssl(...args: readonly (readonly string[])[]): Promise<void> {
  await run("openssl", args.flat());
}

function serialNumber(): string {
  return `0x01${randomBytes(15).toString("hex")}`;
}

/** A role's ARN is a user name too, and `/` would begin the next part of the subject. */
function escaped(name: string): string {
  return name.replaceAll(/[\\/+]/g, String.raw`\$&`);
}
