import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type HookProcess, POD_ENVIRONMENT, runHook, startHook } from "./hook-process.ts";
import { credentialsFolder, until } from "./hook-stage.ts";

let hook: HookProcess | undefined;
afterEach(async () => {
  await hook?.stop();
  hook = undefined;
});

/** A pod whose API server refuses every connection. */
async function alone(
  change: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, string>>> {
  return {
    ...POD_ENVIRONMENT,
    NODE_NAME: "n1",
    KUBERNETES_SERVICE_HOST: "127.0.0.1",
    KUBERNETES_SERVICE_PORT: "1",
    EBS_DRAIN_HOOK_SERVICE_ACCOUNT: await credentialsFolder("token-1"),
    EBS_DRAIN_HOOK_GRACE_SECONDS: "6",
    ...change,
  };
}

const preStop = (container: string): Promise<{ readonly text: string }> =>
  (hook as HookProcess).get(`/pre-stop?container=${container}`);

describe("the hook's process", () => {
  it("ends with every problem of its environment", async () => {
    const { code, errors } = await runHook({ EBS_DRAIN_HOOK_PORT: "x" });
    expect(code).toBe(1);
    expect(errors.trim().split("\n")).toHaveLength(7);
    expect(errors).toContain("NODE_NAME is missing");
    expect(errors).toContain("EBS_DRAIN_HOOK_PORT");
  });

  it("ends where its port is taken", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const port = String((other.address() as AddressInfo).port);
    const { code } = await runHook(await alone({ EBS_DRAIN_HOOK_PORT: port }));
    expect(code).toBe(1);
    other.close();
  });

  it("answers plain GETs: probes, metrics, and nothing else (C28)", async () => {
    hook = await startHook(await alone());
    expect(await hook.get("/healthz")).toEqual({ status: 200, text: "ok\n" });
    expect(await hook.get("/readyz")).toEqual({ status: 200, text: "ok\n" });
    expect((await hook.get("/metrics")).text).toContain("ebs_drain_hook_holds_total 0\n");
    expect((await hook.get("/else")).status).toBe(404);
  });

  it("is not ready without credentials", async () => {
    hook = await startHook(await alone({ EBS_DRAIN_HOOK_SERVICE_ACCOUNT: "/nowhere" }));
    expect((await hook.get("/readyz")).status).toBe(503);
  });

  it("holds all containers until its deadline while the API server refuses connections (H7, H8)", async () => {
    hook = await startHook(await alone());
    const answers = await Promise.all(["driver", "registrar", "hook"].map(preStop));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.text).toMatch(/^H8: own deadline/u);
    const lines = hook.log().filter(({ message }) => message === "answer");
    expect(lines).toMatchObject([{ rule: "H8", component: "ebs-drain-hook", node: "n1" }]);
  });

  it("survives an exception and a rejection that nobody caught, and the hold goes on (H13)", async () => {
    const faults =
      "setTimeout(()=>{throw new Error('boom')},700);setTimeout(()=>Promise.reject(new Error('lost')),800)";
    hook = await startHook(await alone(), [`--import=data:text/javascript,${encodeURIComponent(faults)}`]);
    const answers = Promise.all(["driver", "registrar", "hook"].map(preStop));
    await until(
      "both are logged",
      () => hook?.log().filter(({ message }) => message === "unexpected").length === 2,
    );
    expect((await answers)[0]?.text).toMatch(/^H8/u);
    expect((await hook.get("/healthz")).status).toBe(200);
  });

  it("goes on holding after SIGTERM and ends in order afterwards (C32)", async () => {
    hook = await startHook(await alone());
    const answers = Promise.all(["driver", "registrar"].map(preStop));
    await until("it was asked", () => hook?.log().some(({ message }) => message === "asked") === true);
    hook.child.kill("SIGTERM");
    // The third hook comes after the signal.
    expect((await preStop("hook")).text).toMatch(/^H8/u);
    expect((await answers)[0]?.text).toMatch(/^H8/u);
    expect(await hook.stop()).toBe(0);
  });
});
