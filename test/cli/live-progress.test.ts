import { expect, it, vi } from "vitest";
import type { DrainView, Progress } from "../../lib/cli/drain-progress.ts";
import { liveProgress } from "../../lib/cli/live-progress.ts";

const VIEW: DrainView = {
  at: 0,
  stage: "evict pods",
  pods: [{ name: "pod shop/db-0", state: "terminating", isLeft: true }],
  volumes: [{ name: "volume vol-1", state: "attached: EC2 says attached", isLeft: true }],
  trouble: ["evict: throttled: slow down"],
};

/** All that is written meanwhile; without a terminal listr2 writes lines, failures on standard error. */
async function written(show: (progress: Progress) => Promise<void>): Promise<string> {
  let text = "";
  const keep = (piece: unknown): boolean => {
    text += String(piece);
    return true;
  };
  const writes = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation(keep),
  );
  try {
    await show(liveProgress("node-1"));
  } finally {
    for (const write of writes) write.mockRestore();
  }
  return text;
}

it("shows the stage at work with its pods, volumes and trouble, and what came of each stage", async () => {
  const text = await written(async (progress) => {
    progress.show({ ...VIEW, stage: "cordon", trouble: [] }, []);
    progress.show(VIEW, []);
    await new Promise((resolve) => setImmediate(resolve));
    progress.show({ ...VIEW, stage: "confirm" }, []);
    await progress.end();
  });
  for (const words of ["pod shop/db-0 terminating", "slow down", "evict pods"]) expect(text).toContain(words);
});

it("ends with the problem at the stage that did not end", async () => {
  const text = await written(async (progress) => {
    progress.show(VIEW, []);
    await progress.end("the time-out is reached");
  });
  expect(text).toContain("the time-out is reached");
});
