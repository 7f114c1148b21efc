import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTable } from "../../hook/table-rows.ts";
import { attachmentTable } from "./fake-cluster.ts";

const run = promisify(execFile);

/** The bytes in pieces of this size: rows, texts and characters are cut anywhere. */
async function* inPieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function rowsOf(text: string, size = 7): Promise<readonly unknown[]> {
  const rows: unknown[] = [];
  await readTable(inPieces(text, size), (json) => rows.push(JSON.parse(json)));
  return rows;
}

describe("a table read while it arrives", () => {
  it("gives the same rows as the whole one, wherever it is cut, whatever its cells say", async () => {
    const rows = fc.array(
      fc.record({ cells: fc.array(fc.oneof(fc.string(), fc.jsonValue())), object: fc.jsonValue() }),
    );
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 50 }), fc.boolean(), async (wanted, size, isWide) => {
        const text = JSON.stringify(attachmentTable(wanted, { continue: "t" }), undefined, isWide ? 2 : 0);
        expect(await rowsOf(text, size)).toEqual(JSON.parse(JSON.stringify(wanted)));
      }),
    );
  });

  it("gives what stands before and after the rows", async () => {
    const frame = await readTable(
      inPieces('{"kind":"Table","rows":[{"a":"]}"}],"metadata":{"continue":"t"}}', 3),
      () => {},
    );
    expect(frame).toEqual({ kind: "Table", rows: [], metadata: { continue: "t" } });
  });

  it("without rows is an empty one", async () => {
    expect(await rowsOf('{"kind":"Table","rows":null}')).toEqual([]);
    expect(await rowsOf('{"kind":"Table","rows":[]}')).toEqual([]);
  });

  it.each([
    ["ends within a row", '{"kind":"Table","rows":[{"cells":["a"'],
    ["ends after a row", '{"kind":"Table","rows":[{"cells":["a"]}'],
    ["ends after its rows", '{"kind":"Table","rows":[]'],
    ["is a Status", '{"kind":"Status","rows":[]}'],
    ["is a list of objects", '{"kind":"VolumeAttachmentList","items":[]}'],
    ["is a page of a proxy", "<html></html>"],
    ["is empty", ""],
  ])("is refused where it %s", async (_, text) => {
    await expect(rowsOf(text)).rejects.toBeInstanceOf(SyntaxError);
  });
});

describe("an answer without an end that is no Table", () => {
  it("is given up early instead of being kept (H11)", async () => {
    let pieces = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (; pieces < 10_000; pieces++) yield Buffer.from(`{"items":[${"x".repeat(16_384)}`);
    }
    await expect(readTable(endless(), () => {})).rejects.toThrow("not a Table");
    expect(pieces).toBeLessThan(100);
  });
});

describe("the list of a hold", () => {
  it("of 300,000 attachments is read with 24 MiB for the heap (H11)", async () => {
    const pages = 300;
    const server = createServer((request, response) => {
      const page = Number(new URL(request.url ?? "/", "http://fake").searchParams.get("continue") ?? "0");
      const rows = Array.from({ length: 1_000 }, (_, index) => ({
        cells: [
          `csi-${"0".repeat(56)}${page * 1_000 + index}`,
          "ebs.csi.aws.com",
          `pvc-${index}`,
          `node-${index}`,
          true,
          "5d",
        ],
        object: null,
      }));
      response.end(
        JSON.stringify(attachmentTable(rows, page + 1 < pages ? { continue: String(page + 1) } : {})),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const program = path.join(import.meta.dirname, "list-once.ts");
      // Kept whole, these 50 MB would not fit.
      const { stdout } = await run(process.execPath, ["--max-old-space-size=24", program, url, "node-7"]);
      expect(stdout.trim()).toBe(String(pages));
    } finally {
      server.close();
    }
  });
});
