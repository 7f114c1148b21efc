/** npm run screenshots: the pictures of the documents, taken of the page that `simulate --html` writes. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { simulate } from "../lib/cli/simulate.ts";
import { openBrowser } from "./browser.ts";

/** The command's default, so that the picture shows what a reader's own run shows. */
const SEED = 12;
const WIDTH = 1_100;
const MODES = ["light", "dark"] as const;
const images = path.join(import.meta.dirname, "..", "docs", "images");

const folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-screenshots-"));
const browser = await openBrowser();
try {
  const file = path.join(folder, "scale-in.html");
  const say = (line: string): void => console.log(line);
  const code = await simulate({ seed: SEED, html: file }, { print: say, complain: say, colour: false });
  if (code !== 0) throw new Error(`simulate ended with ${code}`);
  await mkdir(images, { recursive: true });
  for (const mode of MODES) await takeTimelines(browser, file, mode);
} finally {
  await browser.close();
  await rm(folder, { recursive: true });
}

/** Legend and both timelines, without the text around them. */
async function takeTimelines(browser: Browser, file: string, mode: (typeof MODES)[number]): Promise<void> {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 900 }, colorScheme: mode });
  await page.goto(pathToFileURL(file).href);
  const top = await page.locator(".legend").boundingBox();
  const bottom = await page.locator(".side").last().boundingBox();
  if (top === null || bottom === null) throw new Error("the page shows no timelines");
  const target = path.join(images, `two-timelines-${mode}.png`);
  const y = top.y - 16;
  const height = bottom.y + bottom.height + 16 - y;
  await page.screenshot({ path: target, fullPage: true, clip: { x: 0, y, width: WIDTH, height } });
  await page.close();
  console.log(path.relative(process.cwd(), target));
}
