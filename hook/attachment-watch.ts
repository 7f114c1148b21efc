/** Waiting for the end of one VolumeAttachment, whatever the API server does meanwhile (H5, H7). */
import { StringDecoder } from "node:string_decoder";
import { PortError } from "../lib/engine/errors.ts";
import { textAt } from "../lib/kubernetes/json-fields.ts";
import type { ApiConnection } from "./api-connection.ts";
import { failureOfTransport } from "./api-failures.ts";
import { ATTACHMENTS } from "./attachment-list.ts";
import { backoffAfter, pause } from "./backoff.ts";
import { orNull } from "./node-reader.ts";

export interface WatchSettings {
  /** Milliseconds between two GETs while a watch says nothing: a missed event costs this much and no more. */
  readonly verifyEvery: number;
  /** Milliseconds between two GETs where watching is refused (403). */
  readonly pollEvery: number;
}

export const WATCH_SETTINGS: WatchSettings = { verifyEvery: 10_000, pollEvery: 1_000 };

/** The object itself is of no interest, only whether it is there. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/** A watch that ends sooner did not work: the next one waits. */
const SHORT_WATCH = 1_000;
/** How often to ask before a refused watch is tried again: the right may have been granted meanwhile. */
const POLLS = 30;
/** Longest line of a watch; one object's metadata is far below. */
const LONGEST_LINE = 4 * 1_048_576;

export interface Watched {
  /** It is there, as a GET has just said. */
  readonly onThere: () => void;
  readonly onTrouble: (error: PortError) => void;
}

/** Resolves once the attachment is gone. Rejects only when the signal is aborted. */
export async function untilGone(
  connection: ApiConnection,
  name: string,
  watched: Watched,
  signal: AbortSignal,
  settings: WatchSettings = WATCH_SETTINGS,
): Promise<void> {
  let failures = 0;
  let polls = 0;
  for (;;) {
    const began = performance.now();
    try {
      if (!(await isThere(connection, name, signal))) return;
      watched.onThere();
      if (polls > 0) {
        polls -= 1;
        await pause(settings.pollEvery, signal);
        continue;
      }
      if ((await watchOnce(connection, name, signal, settings)) === "gone") return;
      failures = performance.now() - began < SHORT_WATCH ? failures + 1 : 0;
      // Ended in order, as API servers end every watch some time: the next one follows at once.
      if (failures > 0) await pause(backoffAfter(failures, undefined), signal);
    } catch (error) {
      signal.throwIfAborted();
      const failure = failureOfTransport("watchAttachment", error);
      watched.onTrouble(failure);
      failures = performance.now() - began < SHORT_WATCH ? failures + 1 : 1;
      if (failure.kind === "forbidden" && failure.operation === "watchAttachment") polls = POLLS;
      else await pause(backoffAfter(failures, failure), signal);
    }
  }
}

async function isThere(connection: ApiConnection, name: string, signal: AbortSignal): Promise<boolean> {
  const path = `${ATTACHMENTS}/${encodeURIComponent(name)}`;
  const found = await orNull(
    connection.read({ operation: "getAttachment", path, accept: METADATA_ONLY, signal }),
  );
  return found !== null;
}

/**
 * Opens the watch, then looks once more: what is deleted before that look it sees, what is deleted later the watch sees. While the
 * watch is silent a GET asks again from time to time; where that fails the watch is given up as well.
 */
async function watchOnce(
  connection: ApiConnection,
  name: string,
  signal: AbortSignal,
  { verifyEvery }: WatchSettings,
): Promise<"gone" | "ended"> {
  const query = new URLSearchParams({
    watch: "1",
    fieldSelector: `metadata.name=${name}`,
    allowWatchBookmarks: "true",
  });
  const answer = await connection.open({
    operation: "watchAttachment",
    path: `${ATTACHMENTS}?${query.toString()}`,
    accept: METADATA_ONLY,
    mayBeSilent: true,
    signal,
  });
  const over = new AbortController();
  const ended = AbortSignal.any([signal, over.signal]);
  try {
    const events = readEvents(answer.body, name);
    return await Promise.race([events, verify(connection, name, ended, verifyEvery)]);
  } finally {
    over.abort();
    answer.abandon();
  }
}

async function verify(
  connection: ApiConnection,
  name: string,
  signal: AbortSignal,
  every: number,
): Promise<"gone"> {
  while (await isThere(connection, name, signal)) await pause(every, signal);
  return "gone";
}

/** @throws PortError for an ERROR event, and what the stream throws */
async function readEvents(body: AsyncIterable<Buffer>, name: string): Promise<"gone" | "ended"> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const piece of body) {
    const lines = (rest + decoder.write(piece)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE) throw new SyntaxError("a line of the watch has no end");
    for (const line of lines) {
      if (line.trim() !== "" && isEnd(JSON.parse(line), name)) return "gone";
    }
  }
  return "ended";
}

function isEnd(event: unknown, name: string): boolean {
  const type = textAt(event, "type");
  if (type === "ERROR") {
    const message = textAt(event, "object", "message") ?? "no reason given";
    throw new PortError("server", "watchAttachment", `watchAttachment: the watch says ${message}`);
  }
  return type === "DELETED" && textAt(event, "object", "metadata", "name") === name;
}
