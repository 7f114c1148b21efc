/** Waiting for the end of one VolumeAttachment, whatever the API server does meanwhile (H5, H7). */
import { StringDecoder } from "node:string_decoder";
import { PortError } from "../lib/engine/errors.ts";
import { textAt } from "../lib/kubernetes/json-fields.ts";
import type { ApiConnection } from "./api-connection.ts";
import { failureOfTransport } from "./api-failures.ts";
import { ATTACHMENTS, METADATA_ONLY } from "./attachment-list.ts";
import { backoffAfter, pause } from "./backoff.ts";
import { orNull } from "./node-reader.ts";

export interface WatchSettings {
  /** Milliseconds between two GETs while a watch says nothing: a missed event costs this much and no more. */
  readonly verifyEvery: number;
  /** Milliseconds between two GETs where watching is refused (403). */
  readonly pollEvery: number;
}

export const WATCH_SETTINGS: WatchSettings = { verifyEvery: 10_000, pollEvery: 1_000 };

/** A watch that ends sooner did not work: the next one waits. */
const SHORT_WATCH = 1_000;
/** How often to ask before a refused watch is tried again: the right may have been granted meanwhile. */
const POLLS = 30;
/** Longest line of a watch; one object's metadata is far below. */
const LONGEST_LINE = 4 * 1_048_576;

export interface Watched {
  /** It is there, or was until now, as a GET or an event has just said. */
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
      // A watch that does not work says nothing, and a GET may well.
      if (failures > 0 && !(await isThere(connection, name, watched, signal))) return;
      if (polls > 0) {
        polls -= 1;
        await pause(settings.pollEvery, signal);
        continue;
      }
      if ((await watchOnce(connection, name, watched, signal, settings)) === "gone") return;
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

async function isThere(
  connection: ApiConnection,
  name: string,
  watched: Watched,
  signal: AbortSignal,
): Promise<boolean> {
  const path = `${ATTACHMENTS}/${encodeURIComponent(name)}`;
  const found = await orNull(
    connection.read({ operation: "getAttachment", path, accept: METADATA_ONLY, signal }),
  );
  if (found !== null) watched.onThere();
  return found !== null;
}

/**
 * Opens the watch, then looks once more: what is deleted before that look it sees, what is deleted later the watch sees. While the
 * watch is silent a GET asks again from time to time; where that fails the watch is given up as well.
 */
async function watchOnce(
  connection: ApiConnection,
  name: string,
  watched: Watched,
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
    const events = readEvents(answer.body, name, watched);
    return await Promise.race([events, verify(connection, name, watched, ended, verifyEvery)]);
  } finally {
    over.abort();
    answer.abandon();
  }
}

async function verify(
  connection: ApiConnection,
  name: string,
  watched: Watched,
  signal: AbortSignal,
  every: number,
): Promise<"gone"> {
  while (await isThere(connection, name, watched, signal)) await pause(every, signal);
  return "gone";
}

/** @throws PortError for an ERROR event, and what the stream throws */
async function readEvents(
  body: AsyncIterable<Buffer>,
  name: string,
  watched: Watched,
): Promise<"gone" | "ended"> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const piece of body) {
    const lines = (rest + decoder.write(piece)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE) throw new SyntaxError("a line of the watch has no end");
    for (const line of lines) {
      if (line.trim() === "") continue;
      const type = eventOf(JSON.parse(line), name);
      // Its end, too, says that it was there.
      if (type !== undefined) watched.onThere();
      if (type === "DELETED") return "gone";
    }
  }
  return "ended";
}

/** What happened to this attachment; undefined for a bookmark. @throws PortError */
function eventOf(event: unknown, name: string): string | undefined {
  const type = textAt(event, "type");
  if (type === "ERROR") {
    const message = textAt(event, "object", "message") ?? "no reason given";
    throw new PortError("server", "watchAttachment", `watchAttachment: the watch says ${message}`);
  }
  return textAt(event, "object", "metadata", "name") === name ? type : undefined;
}
