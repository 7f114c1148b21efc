import { describe, expect, test } from "vitest";
import type { FailureKind } from "../../lib/engine/errors.ts";
import type { AwsHarness } from "./aws-harness.ts";
import { inService, waiting } from "./aws-auto-scaling-contract.ts";

const FAILURES: readonly FailureKind[] = ["network", "throttled", "server", "unauthenticated", "forbidden"];
/** An SDK tries again once by itself. */
const ENOUGH = 2;

export function describeFailureContract(harnessOf: () => AwsHarness): void {
  describe("failures", () => {
    test.each(FAILURES)("%s is told as such by every kind of call, and changes nothing", (failure) =>
      harnessOf().run(async () => {
        const { ports, faults, autoScaling, ...rest } = harnessOf();
        const action = await waiting({ ports, faults, autoScaling, ...rest });
        const calls = {
          "ec2.describeInstance": () => ports.ec2.describeInstance(action.instance),
          "ec2.describeInstances": () => ports.ec2.describeInstances([action.instance]),
          "ec2.listAttachedVolumes": () => ports.ec2.listAttachedVolumes(action.instance),
          "ec2.describeVolumes": () => ports.ec2.describeVolumes(["vol-00000000000000001"]),
          "autoScaling.describeMember": () => ports.autoScaling.describeMember(action.instance),
          "autoScaling.listMembers": () => ports.autoScaling.listMembers(["workers-a"]),
          "autoScaling.heartbeat": () => ports.autoScaling.heartbeat(action),
          "autoScaling.complete": () => ports.autoScaling.complete(action, "CONTINUE"),
        };
        for (const [operation, call] of Object.entries(calls)) {
          faults.plan(operation, { kind: "fail", failure }, ENOUGH);
          await expect(call()).rejects.toMatchObject({ name: "PortError", kind: failure, operation });
        }
        expect(autoScaling.getHistory()).toMatchObject([{ kind: "opened" }]);
      }),
    );

    test("an answer that is lost leaves the completion done, and a second one says so (C20)", () =>
      harnessOf().run(async () => {
        const harness = harnessOf();
        const action = await waiting(harness);
        harness.faults.plan("autoScaling.complete", { kind: "lost-answer" });
        const first = await harness.ports.autoScaling
          .complete(action, "CONTINUE")
          .catch((error: unknown) => error);
        // A client that asks again by itself learns at once that it is over.
        expect(["network", "no-active-action"]).toContain((first as { kind?: string }).kind);
        await expect(harness.ports.autoScaling.complete(action, "CONTINUE")).rejects.toMatchObject({
          kind: "no-active-action",
        });
        const accepted = harness.autoScaling
          .getHistory()
          .filter((record) => record.kind === "complete" && record.outcome === "accepted");
        expect(accepted).toHaveLength(1);
      }));

    test("a call after the failure works", () =>
      harnessOf().run(async () => {
        const harness = harnessOf();
        const instance = await inService(harness);
        harness.faults.plan("ec2.describeInstance", { kind: "fail", failure: "server" }, ENOUGH);
        await harness.ports.ec2.describeInstance(instance).catch(() => undefined);
        harness.faults.before("ec2.describeInstance");
        expect(await harness.ports.ec2.describeInstance(instance)).toMatchObject({ id: instance });
      }));
  });
}
