/** The one list of the cluster's VolumeAttachments in a hold: table rows in pages, of which only this node's are kept (H11). */
import type { AttachmentRow } from "../lib/drain/cluster.ts";
import { PortError } from "../lib/engine/errors.ts";
import { textAt } from "../lib/kubernetes/json-fields.ts";
import { attachmentRows } from "../lib/kubernetes/storage-views.ts";
import type { ApiConnection } from "./api-connection.ts";
import { failureOfTransport } from "./api-failures.ts";
import { readTable } from "./table-rows.ts";

/** The API server compresses an answer only above 128 KiB: pages of 500 rows cost three times the bytes. */
const PAGE_SIZE = 1_000;
/** A page takes the API server about 20 ms; between two of its pieces this is an eternity. */
const TIMEOUT = 15_000;
const OPERATION = "listAttachments";

export const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";
export const AS_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1";
/** One object without spec and status. */
export const METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** @throws PortError; `server` where the list expired on its way (410), and it has to be begun again */
export async function listAttachmentsOfNode(
  connection: ApiConnection,
  node: string,
  signal: AbortSignal,
): Promise<readonly AttachmentRow[]> {
  const found: AttachmentRow[] = [];
  let next: string | undefined;
  do {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE), includeObject: "None" });
    if (next !== undefined) query.set("continue", next);
    const answer = await connection.open({
      operation: OPERATION,
      path: `${ATTACHMENTS}?${query.toString()}`,
      accept: AS_TABLE,
      timeout: TIMEOUT,
      signal,
    });
    const page = await readPage(answer.body, node).catch((error: unknown) => {
      answer.abandon();
      throw failureOfTransport(OPERATION, error);
    });
    found.push(...page.rows);
    next = page.next;
  } while (next !== undefined);
  return found;
}

async function readPage(
  body: AsyncIterable<Buffer>,
  node: string,
): Promise<{ readonly rows: readonly AttachmentRow[]; readonly next: string | undefined }> {
  // A row of another node is not even parsed.
  const cell = JSON.stringify(node);
  const kept: unknown[] = [];
  const frame = await readTable(body, (json) => {
    if (json.includes(cell)) kept.push(JSON.parse(json));
  });
  const rows = attachmentRows({ ...frame, rows: kept });
  if (rows === undefined) {
    throw new PortError(
      "server",
      OPERATION,
      `${OPERATION}: not a table of VolumeAttachments with PV and node`,
    );
  }
  return {
    rows: rows.filter(({ nodeName }) => nodeName === node),
    next: textAt(frame, "metadata", "continue"),
  };
}
