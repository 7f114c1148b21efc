#!/usr/bin/env node
/** The command line. Commands load what they need when they are called. */
import { enableCompileCache } from "node:module";
import { createProgram } from "../lib/cli/program.ts";

// A second run starts in half the time.
enableCompileCache();

// Whoever reads may stop reading, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

await createProgram(process.argv[1] ?? "").parseAsync();
