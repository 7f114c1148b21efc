/** What every ClusterPort does, over the simulated cluster and over a real API server alike. */
import { afterAll, beforeAll, describe } from "vitest";
import { describeAttachmentContract } from "./cluster-attachments.ts";
import { describeChangesContract } from "./cluster-changes.ts";
import type { ClusterHarness } from "./cluster-harness.ts";
import { describeEvictionContract } from "./cluster-evictions.ts";
import { describeReadsContract } from "./cluster-reads.ts";

/**
 * One harness serves the whole suite: every case uses names of its own and expects others' objects beside them.
 * @param makeHarness is awaited before the first case, its `close` after the last one
 */
export function describeClusterContract(name: string, makeHarness: () => Promise<ClusterHarness>): void {
  describe(`the cluster contract over ${name}`, () => {
    let made: ClusterHarness | undefined;
    beforeAll(async () => {
      made = await makeHarness();
    });
    afterAll(async () => {
      await made?.close();
    });
    const harness = (): ClusterHarness => {
      if (made === undefined) throw new Error("the harness was not made");
      return made;
    };
    describeReadsContract(harness);
    describeAttachmentContract(harness);
    describeChangesContract(harness);
    describeEvictionContract(harness);
  });
}
