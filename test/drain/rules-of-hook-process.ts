/** H7 and H9 to H13: what the hook's process does around the decision, over an API server that misbehaves. */
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";
import { nodeObject, refuse } from "../hook/fake-cluster.ts";
import { type Stage, startStage, until, volume, work } from "../hook/hook-stage.ts";
import type { RuleRow } from "./rule-row.ts";

const ONE = volume("vol-1");

/** Plays on a cordoned node with one volume, and closes the stage whatever happens. */
async function play(
  play: (stage: Stage) => Promise<void>,
  ...options: Parameters<typeof startStage>
): Promise<void> {
  const stage = await startStage(...options);
  stage.cluster.node = nodeObject({ cordoned: true, volumesInUse: [ONE.inUse] });
  stage.cluster.attach(ONE.name);
  try {
    await play(stage);
  } finally {
    await stage.close();
  }
}

/** The rules by which a hold of one volume ended, one for each container. */
async function rulesAfterDetach({ cluster, stopPod }: Stage): Promise<readonly string[]> {
  const stopping = stopPod();
  await until("it is watched", () => cluster.watched().length === 1);
  cluster.detach(ONE.name);
  return (await stopping).map(({ rule }) => rule);
}

export const HOOK_PROCESS_RULES: readonly RuleRow[] = [
  {
    rule: "H7",
    shows: "an API server that fails is waited for, without the right to watch it polls",
    holds: () =>
      play(async ({ cluster, stopPod }) => {
        cluster.misbehave = ({ query }, response) =>
          (cluster.asked.length < 4 && refuse(response, 503)) ||
          (query.get("watch") === "1" && refuse(response, 403));
        const stopping = stopPod();
        await until("it polls", () => cluster.count(/volumeattachments.csi-/u) > 3);
        cluster.detach(ONE.name);
        expect((await stopping)[0]).toMatchObject({ rule: "H5", detached: true });
      }),
  },
  {
    rule: "H9",
    shows: "the action is completed by the token that `work` handed to this very pod",
    holds: async () => {
      const tokens: string[] = [];
      const load = async () => async (action: { readonly token: string }) => void tokens.push(action.token);
      await play(
        async (stage) => {
          const handed = work({ handedOver: "pod-uid", token: "t-1" });
          stage.cluster.node = nodeObject({ work: handed, volumesInUse: [ONE.inUse] });
          await rulesAfterDetach(stage);
          expect(tokens).toEqual(["t-1"]);
        },
        {},
        load,
      );
    },
  },
  {
    rule: "H10",
    shows: "one log line and one Event are there before the answer",
    holds: () =>
      play(async (stage) => {
        await rulesAfterDetach(stage);
        expect(stage.log.filter(({ message }) => message === "answer")).toHaveLength(1);
        expect(stage.cluster.events()).toMatchObject([{ reason: "VolumesDetached" }]);
      }),
  },
  {
    rule: "H11",
    shows: "one wait and one list serve all containers",
    holds: () =>
      play(async (stage) => {
        expect(await rulesAfterDetach(stage)).toEqual(["H5", "H5", "H5"]);
        expect(stage.cluster.asked.filter(({ query }) => query.has("limit"))).toHaveLength(1);
      }),
  },
  {
    rule: "H12",
    shows: "a driver whose socket refuses ends the hold with its volume still attached",
    holds: async () => {
      const csiSocket = path.join(await mkdtemp(path.join(tmpdir(), "csi-")), "csi.sock");
      let knocks = 0;
      const driver = createServer((socket) => {
        knocks += 1;
        socket.on("error", () => {}).end();
      });
      await new Promise<void>((resolve) => driver.listen(csiSocket, resolve));
      await play(
        async ({ stopPod }) => {
          const stopping = stopPod();
          await until("the driver was asked", () => knocks > 0);
          driver.close();
          expect((await stopping)[0]).toMatchObject({ rule: "H12", left: [ONE.name] });
        },
        { csiSocket },
      );
    },
  },
  {
    rule: "H13",
    shows: "an error of its own is logged and does not end the hold before the deadline",
    holds: () =>
      play(
        async ({ cluster, log, stopPod }) => {
          const stopping = stopPod();
          await until("it is logged", () => log.some(({ message }) => message === "a look failed"));
          cluster.node = nodeObject({});
          expect((await stopping)[0]).toMatchObject({ rule: "H1" });
        },
        {},
        undefined,
        () => {
          throw new TypeError("a fault");
        },
      ),
  },
];
