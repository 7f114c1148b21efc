import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { simulate } from "../../lib/cli/simulate.ts";
import { SCENARIOS } from "../../lib/sim/scenarios.ts";
import { openBrowser } from "../../scripts/browser.ts";
import { SEED } from "../cli/played.ts";
import { KeptTerminal } from "../cli/terminal.ts";
import type { Contrast, Overlap } from "./page-looks.ts";
import { contrastScript, overflowScript, strayScript } from "./page-looks.ts";

const DESKTOP = { width: 1_280, height: 900 };
const PHONE = { width: 375, height: 740 };

let folder = "";
let browser: Browser;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-page-"));
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

interface Opened {
  readonly page: Page;
  /** Errors in the page, and whatever it asked for besides itself. */
  readonly trouble: readonly string[];
}

async function opened(scenario: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const file = path.join(folder, `${scenario}.html`);
  const terminal = new KeptTerminal();
  expect(await simulate({ seed: SEED, scenario, html: file }, terminal)).toBe(0);
  const context = await browser.newContext({ viewport: DESKTOP, ...options });
  const page = await context.newPage();
  const trouble: string[] = [];
  page.on("pageerror", (error) => trouble.push(String(error)));
  page.on("console", (message) => trouble.push(message.text()));
  page.on("request", (request) => {
    if (request.url() !== pathToFileURL(file).href) trouble.push(request.url());
  });
  await page.goto(pathToFileURL(file).href);
  return { page, trouble };
}

async function closed({ page, trouble }: Opened): Promise<void> {
  await page.context().close();
  expect(trouble).toEqual([]);
}

/** The lane of the side with ebs-drain, or of the one without. */
function laneOf(page: Page, side: number, group: string, name: string) {
  return page
    .locator(".side")
    .nth(side)
    .getByRole("group", { name: group, exact: true })
    .getByRole("group", { name, exact: true });
}

describe("the page of scale-in", () => {
  it("shows lanes for pods, mounts, attachments, EC2, lifecycle action and drain on both sides", async () => {
    const open = await opened("scale-in");
    const { page } = open;
    for (const side of [0, 1]) {
      for (const group of ["Pods", "Mounts", "VolumeAttachments", "EC2 attachments"]) {
        for (const pod of ["db-0", "db-1", "queue-0"]) {
          const lane = laneOf(page, side, group, pod);
          expect(await lane.isVisible()).toBe(true);
          expect(await lane.getByRole("button").count()).toBeGreaterThan(1);
        }
      }
      for (const name of ["EC2 instance", "Kubelet's report", "Lifecycle action"]) {
        expect(await laneOf(page, side, "The machine", name).isVisible()).toBe(true);
      }
    }
    expect(await laneOf(page, 0, "ebs-drain", "Drain").isVisible()).toBe(true);
    expect(await laneOf(page, 1, "Drainer", "Drain").isVisible()).toBe(true);
    expect(await page.locator(".overview").innerText()).toMatch(/15\.6 s[^]*364\.5 s/);
    await closed(open);
  });

  it("has both sides on one time scale: the pod that waits six minutes is a long bar beside a short one", async () => {
    const open = await opened("scale-in");
    const waits = await Promise.all(
      [0, 1].map(async (side) => {
        const bar = laneOf(open.page, side, "Pods", "db-1").getByRole("button", {
          name: "waits for its volume",
        });
        return (await bar.boundingBox())?.width ?? 0;
      }),
    );
    expect(waits[0]).toBeGreaterThan(5);
    expect((waits[1] ?? 0) / (waits[0] ?? 0)).toBeGreaterThan(3);
    const zero = await Promise.all(
      [0, 1].map(async (side) => {
        const bar = laneOf(open.page, side, "The machine", "Lifecycle action").locator(".bar");
        return (await bar.boundingBox())?.x;
      }),
    );
    expect(zero[0]).toBe(zero[1]);
    await closed(open);
  });

  it("explains a bar that is pointed at, and is silent again when it is left", async () => {
    const open = await opened("scale-in");
    const tip = open.page.getByRole("tooltip");
    expect(await tip.isVisible()).toBe(false);
    await laneOf(open.page, 1, "VolumeAttachments", "db-1").getByRole("button").first().hover();
    expect(await tip.innerText()).toMatch(/^db-1: on the old node, \+[^]*Kubernetes waits six minutes\.$/);
    await open.page.getByRole("heading", { level: 1 }).hover();
    expect(await tip.isVisible()).toBe(false);
    await closed(open);
  });

  it("can be read with the keyboard alone: Tab to a lane, arrows from bar to bar and lane to lane, Escape", async () => {
    const open = await opened("scale-in");
    const { page } = open;
    const tip = page.getByRole("tooltip");
    const lane = laneOf(page, 0, "Pods", "db-0");
    expect(await lane.locator("button[tabindex='0']").count()).toBe(1);
    await lane.getByRole("button").first().focus();
    expect(await tip.innerText()).toContain("db-0: on the old node");
    await page.keyboard.press("ArrowRight");
    expect(await tip.innerText()).toContain("db-0: stops");
    await page.keyboard.press("ArrowDown");
    expect(await tip.innerText()).toMatch(/^db-1: /);
    await page.keyboard.press("End");
    expect(await tip.innerText()).toContain("db-1: on the new node");
    await page.keyboard.press("Escape");
    expect(await tip.isVisible()).toBe(false);
    await page.keyboard.press("Tab");
    expect(await tip.innerText()).toMatch(/^queue-0: /);
    await closed(open);
  });

  it("keeps its explanations on a phone within the screen", async () => {
    const open = await opened("scale-in", { viewport: PHONE, hasTouch: true });
    await laneOf(open.page, 1, "Pods", "db-1").getByRole("button").last().tap();
    const box = await open.page.getByRole("tooltip").boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(PHONE.height);
    await closed(open);
  });

  it("needs no script: every bar has a title, and everything is told in words", async () => {
    const open = await opened("scale-in", { javaScriptEnabled: false });
    const buttons = open.page.locator(".track button");
    expect(await buttons.count()).toBeGreaterThan(100);
    expect(await open.page.locator(".track button:not([title])").count()).toBe(0);
    expect(await open.page.locator(".stories").innerText()).toContain("ebs-drain completes the action");
    await closed(open);
  });
});

describe("its colours", () => {
  it.each(["light", "dark"] as const)(
    "can be read in %s mode: 4.5 to 1 or better everywhere",
    async (colorScheme) => {
      const open = await opened("hand-over", { colorScheme });
      const found = await open.page.evaluate<readonly Contrast[]>(contrastScript);
      expect(found.length).toBeGreaterThan(100);
      expect(found.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
      await closed(open);
    },
  );

  it("differ between the modes, follow the reader's choice, and are light on paper", async () => {
    const open = await opened("scale-in", { colorScheme: "dark" });
    const ground = (): Promise<string> =>
      open.page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const dark = await ground();
    await open.page.emulateMedia({ colorScheme: "light" });
    expect(await ground()).toBe("rgb(255, 255, 255)");
    expect(dark).not.toBe("rgb(255, 255, 255)");
    await open.page.emulateMedia({ colorScheme: "dark", media: "print" });
    expect(await ground()).toBe("rgb(255, 255, 255)");
    const printed = await open.page.evaluate<readonly Contrast[]>(contrastScript);
    expect(printed.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
    const pdf = await open.page.pdf({ preferCSSPageSize: true });
    expect(pdf.length).toBeGreaterThan(20_000);
    await closed(open);
  });
});

describe.each(SCENARIOS.map(({ name }) => name))("the page of %s", (scenario) => {
  it("fits its window, on a desk and in a hand, and no bar leaves its lane", async () => {
    const open = await opened(scenario);
    for (const viewport of [DESKTOP, PHONE]) {
      await open.page.setViewportSize(viewport);
      expect(await open.page.evaluate<number>(overflowScript)).toBe(0);
      expect(await open.page.evaluate<readonly Overlap[]>(strayScript)).toEqual([]);
    }
    await closed(open);
  });
});
