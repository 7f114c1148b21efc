import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Twice the processors: many tests wait for sockets and child processes, and the default leaves one processor idle.
    maxWorkers: 2 * availableParallelism(),
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**"],
          // No test replaces modules, or keeps more in them than what it has played already: files share what they import, which is a third of the time otherwise.
          isolate: false,
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          // One control plane at a time: two cores do not carry two.
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
