/** The machine's own Chromium. playwright-core brings none, and downloads none. */
import { access, constants } from "node:fs/promises";
import path from "node:path";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

/** Names of the program, as distributions have it. */
const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** @throws where none is on the PATH; the message says how to get one */
export async function openBrowser(searchPath = process.env["PATH"] ?? ""): Promise<Browser> {
  const executablePath = await findBrowser(searchPath);
  // Chromium does not start as root with its sandbox; the pages are the project's own.
  return chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
}

async function findBrowser(searchPath: string): Promise<string> {
  for (const name of NAMES) {
    for (const folder of searchPath.split(path.delimiter).filter((each) => each !== "")) {
      const file = path.join(folder, name);
      const isThere = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isThere) return file;
    }
  }
  throw new Error(
    `No Chromium is on the PATH (${NAMES.join(", ")}). Install it: apt-get install chromium, or brew install --cask chromium.`,
  );
}
