/** What a look of a hold reads anew, with the clock and the API's answers in the test's hands. */
import { expect, it } from "vitest";
import { HoldLoop } from "../../hook/hold-loop.ts";
import { NodeAttachments } from "../../hook/node-attachments.ts";
import { TroubleLog } from "../../hook/trouble-log.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import { nodeView } from "../../lib/kubernetes/node-views.ts";
import { DRIVER, NODE, nodeObject } from "./fake-cluster.ts";

interface Hold {
  /** The last attachment goes, this many milliseconds after the Node was read. */
  readonly endLast: (later: number) => void;
  readonly reads: () => number;
  readonly ended: Promise<{ readonly rule: string }>;
}

/** A hold of a cordoned node with one attachment, once it is watched. */
async function startHold(): Promise<Hold> {
  let now = 1_000_000;
  let reads = 0;
  let end = (): void => {};
  const watched = new Promise<void>((begun) => {
    end = begun;
  });
  const row = { name: "csi-1", attacher: DRIVER, nodeName: NODE, volumeName: "pv-1" };
  let gone = (): void => {};
  const source = {
    list: () => Promise.resolve([row]),
    isLocal: () => Promise.resolve(false),
    untilGone: (_: string, { onThere }: { readonly onThere: () => void }) => {
      onThere();
      end();
      return new Promise<void>((resolve) => (gone = resolve));
    },
  };
  const log = (): void => {};
  const view = nodeView(nodeObject({ cordoned: true }));
  const loop = new HoldLoop({
    sources: {
      readNode: () => {
        reads += 1;
        return Promise.resolve({ view, volumes: [] });
      },
      readPod: () => Promise.resolve({ deleting: true, graceSeconds: 600 }),
      readNewestRevision: () => Promise.resolve(undefined),
      attachmentName: () => "csi-1",
    },
    attachments: (onChange) =>
      new NodeAttachments({ source, drivers: [DRIVER], onChange, onTrouble: () => {} }),
    policy: DEFAULT_POLICY,
    drainTaints: [],
    configuredGrace: 600,
    hooks: () => ({ arrived: 3, expected: 3 }),
    onNode: () => {},
    trouble: new TroubleLog(log),
    log,
    now: () => now,
  });
  const ended = loop.run();
  await watched;
  return {
    endLast: (later) => {
      now += later;
      gone();
    },
    reads: () => reads,
    ended,
  };
}

it("the last attachment's end is answered by what was just read of the Node (H5)", async () => {
  const hold = await startHold();
  const before = hold.reads();
  hold.endLast(1_900);
  expect(await hold.ended).toMatchObject({ rule: "H5" });
  expect(hold.reads()).toBe(before);
});

it("what was read of the Node two seconds ago is read again before the answer (H5, H6)", async () => {
  const hold = await startHold();
  const before = hold.reads();
  hold.endLast(2_000);
  expect(await hold.ended).toMatchObject({ rule: "H5" });
  expect(hold.reads()).toBeGreaterThan(before);
});
