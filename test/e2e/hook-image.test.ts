/** The hook's image: what is in it, that it runs with nothing else, and which user the driver's socket asks for. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { type Server, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ARCHITECTURES, type Architecture, isThisMachine } from "../../scripts/hook-image/architecture.ts";
import { readDockerfile } from "../../scripts/hook-image/dockerfile.ts";
import { readElf } from "../../scripts/hook-image/elf.ts";
import { writeOciArchive } from "../../scripts/hook-image/oci-archive.ts";
import { writeRootFileSystem } from "../../scripts/hook-image/root-file-system.ts";
import { POD_ENVIRONMENT } from "../hook/hook-process.ts";
import { eventually } from "./eventually.ts";
import { run } from "./kubectl.ts";
import { describeSlow } from "./slow-tests.ts";

let folder: string;
let root: string;
let architecture: Architecture;
beforeAll(async () => {
  const here = ARCHITECTURES.find(isThisMachine);
  if (here === undefined)
    throw new Error(`no image of the hook is made for ${process.platform} ${process.arch}`);
  architecture = here;
  folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-hook-image-"));
  // Other users run what is in it.
  await chmod(folder, 0o755);
  root = path.join(folder, architecture.name);
  await writeRootFileSystem(root, architecture);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function filesOf(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)));
}

describe("the image's root file system", () => {
  it("has Node, the libraries that it names, the bundle, and no shell nor anything else", async () => {
    const kinds = (await filesOf(root)).map((file) => {
      if (/(^|\/)(ld-linux[^/]*|lib[^/]+)\.so(\.\d+)*$/u.test(file)) return "library";
      if (/^hook\/[\w-]+\.mjs$/u.test(file)) return "bundle";
      return file;
    });
    expect(new Set(kinds)).toEqual(new Set(["library", "bundle", "etc/nsswitch.conf", "usr/bin/node"]));
    const names = new Set((await filesOf(root)).map((file) => path.basename(file)));
    const { needed } = await readElf(path.join(root, "usr", "bin", "node"));
    expect(needed.filter((name) => !names.has(name))).toEqual([]);
    expect(needed).toContain("libc.so.6");
  });

  it("loads no package at the start: the AWS client comes when an action is to be completed", async () => {
    const loaded = new Set(["server.mjs"]);
    for (const name of loaded) {
      const text = await readFile(path.join(root, "hook", name), "utf8");
      expect(text).not.toContain("// node_modules/");
      const specifiers = [...text.matchAll(/^(?:import|\} from)[^\n]*"([^"\n]+)";$/gmu)].map(
        ([, specifier = ""]) => specifier,
      );
      const parts = specifiers.filter((specifier) => specifier.startsWith("./"));
      for (const part of parts) loaded.add(part.slice(2));
      const packages = specifiers.filter((specifier) => !/^(node:|\.\/)/u.test(specifier));
      expect(packages).toEqual([]);
    }
    const all = await Promise.all(
      (await readdir(path.join(root, "hook"))).map((name) => readFile(path.join(root, "hook", name), "utf8")),
    );
    expect(all.join("")).toContain("// node_modules/@aws-sdk/client-auto-scaling/");
    expect(all.join("")).not.toContain("// node_modules/@kubernetes/");
  });

  it("serves as a user that no system knows, with nothing but this root", async () => {
    const { Entrypoint, Env, User } = await readDockerfile();
    const environment = {
      ...Object.fromEntries(Env.map((line) => line.split("=") as [string, string])),
      ...POD_ENVIRONMENT,
      NODE_NAME: "n1",
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: "1",
    };
    const child = spawn("chroot", [`--userspec=${User}`, root, ...Entrypoint], {
      env: { PATH: process.env["PATH"], ...environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const port = await portOf(child);
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
      // Its service account's files are the one thing that it misses here.
      expect(await (await fetch(`http://127.0.0.1:${port}/readyz`)).text()).toContain("serviceaccount");
    } finally {
      child.kill("SIGKILL");
    }
  });
});

async function portOf(child: ChildProcess): Promise<number> {
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  return eventually("the hook listens", () => Number(/"port":(\d+)/u.exec(text)?.[1] ?? 0));
}

describe("the OCI archive", () => {
  it("runs as the Dockerfile says, and is what its digests say", async () => {
    const archive = path.join(folder, "image.tar");
    const name = "example.com/ebs-drain-hook:1.2.3";
    await writeOciArchive(archive, { root, architecture, run: await readDockerfile(), name });
    const layout = path.join(folder, "layout");
    await mkdir(layout);
    await run("tar", ["-C", layout, "-xf", archive]);
    const blob = async (digest: string): Promise<Buffer> => {
      const bytes = await readFile(path.join(layout, "blobs", ...digest.split(":")));
      expect(`sha256:${createHash("sha256").update(bytes).digest("hex")}`).toBe(digest);
      return bytes;
    };
    const index = JSON.parse(await readFile(path.join(layout, "index.json"), "utf8")) as Index;
    const [image] = index.manifests;
    expect(image?.annotations["io.containerd.image.name"]).toBe(name);
    const manifest = JSON.parse((await blob(image?.digest ?? "")).toString()) as Manifest;
    const config = JSON.parse((await blob(manifest.config.digest)).toString()) as unknown;
    const [layer] = manifest.layers;
    await blob(layer?.digest ?? "");
    expect(config).toMatchObject({
      architecture: architecture.name,
      config: {
        User: "65532:65532",
        Entrypoint: ["/usr/bin/node", expect.any(String), expect.any(String), "/hook/server.mjs"],
      },
      rootfs: { diff_ids: [layer?.digest] },
    });
  });
});

interface Index {
  readonly manifests: readonly {
    readonly digest: string;
    readonly annotations: Readonly<Record<string, string>>;
  }[];
}

interface Manifest {
  readonly config: { readonly digest: string };
  readonly layers: readonly { readonly digest: string }[];
}

describe("a socket that root made as the driver makes its own, with no change of its mode", () => {
  const CONNECT = `const socket = require("node:net").connect(process.argv[1]);
    socket.on("connect", () => { console.log("connected"); process.exit(); });
    socket.on("error", (error) => { console.log(error.code); process.exit(); });`;
  let server: Server;
  let socket: string;
  beforeAll(async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "ebs-drain-socket-"));
    await chmod(directory, 0o755);
    socket = path.join(directory, "csi.sock");
    const before = process.umask(0o022);
    server = createServer((connection) => connection.end());
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    process.umask(before);
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    await rm(path.dirname(socket), { recursive: true });
  });

  it.each([
    ["is open to root without any capability", ["--reuid=0", "--regid=0"], "connected"],
    ["is closed to any other user (H12)", ["--reuid=65532", "--regid=65532"], "EACCES"],
    ["is closed to any other user of root's group", ["--reuid=65532", "--regid=0"], "EACCES"],
  ])("%s", async (_, user, answer) => {
    const none = ["--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"];
    const node = path.join(root, "usr", "bin", "node");
    const program = await run("setpriv", [...user, ...none, node, "-e", CONNECT, socket]);
    expect(program.errors).toBe("");
    expect(program.out.trim()).toBe(answer);
  });
});

describeSlow("the image for the other processor", () => {
  it("has that processor's Node and every library that it names", async () => {
    const other = ARCHITECTURES.find((each) => !isThisMachine(each));
    if (other === undefined) throw new Error("there is one processor only");
    const built = path.join(folder, other.name);
    await writeRootFileSystem(built, other);
    const node = await readElf(path.join(built, "usr", "bin", "node"));
    const names = new Set((await filesOf(built)).map((file) => path.basename(file)));
    expect(node.interpreter).toMatch(other.name === "arm64" ? /aarch64/u : /x86-64/u);
    expect(node.needed.filter((name) => !names.has(name))).toEqual([]);
  });
});
