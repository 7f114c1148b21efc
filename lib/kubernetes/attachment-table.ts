/**
 * The cluster's VolumeAttachments as the API server's table rows: a tenth of the objects' bytes, and all that a drain reads of them.
 * client-node's API classes know no tables, so this one request is put together here, for the same pool and credentials.
 */
import {
  ApiException,
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  RequestContext,
} from "@kubernetes/client-node";
import type { AttachmentRow } from "../drain/cluster.ts";
import type { ClusterConnection } from "./connection.ts";
import { textAt } from "./json-fields.ts";
import type { Page } from "./pages.ts";
import { attachmentRows } from "./storage-views.ts";

/** The API server compresses an answer only above 128 KiB: pages of 500 rows cost three times the bytes. */
const PAGE_SIZE = 1_000;

const http = new IsomorphicFetchHttpLibrary();

/**
 * @param withNodeIds adds each object's metadata, for the annotation with the instance id
 * @param next token of the page, undefined for the first one
 * @throws ApiException, SyntaxError where the answer is no such table, and what fetch throws
 */
export async function attachmentPage(
  connection: ClusterConnection,
  withNodeIds: boolean,
  next: string | undefined,
): Promise<Page<AttachmentRow>> {
  const base = connection.server.replace(/\/$/u, "");
  const context = new RequestContext(`${base}/apis/storage.k8s.io/v1/volumeattachments`, HttpMethod.GET);
  context.setQueryParam("limit", String(PAGE_SIZE));
  context.setQueryParam("includeObject", withNodeIds ? "Metadata" : "None");
  if (next !== undefined) context.setQueryParam("continue", next);
  context.setHeaderParam("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1");
  context.setHeaderParam("Accept-Encoding", "gzip");
  await connection.applySecurityAuthentication(context);
  const answer = await http.send(context).toPromise();
  const text = await answer.body.text();
  if (answer.httpStatusCode !== 200) {
    throw new ApiException(answer.httpStatusCode, "no table", text, answer.headers);
  }
  return readPage(JSON.parse(text));
}

function readPage(table: unknown): Page<AttachmentRow> {
  const rows = attachmentRows(table);
  if (rows === undefined) throw new SyntaxError("not a table of VolumeAttachments with PV and node");
  return { items: rows, next: textAt(table, "metadata", "continue") };
}
