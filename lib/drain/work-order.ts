/**
 * `work`: what the Node annotation says while a piece of work is open, for the hook, for other executions, for the sweep and
 * for whoever is paged. Written with the cordon, void for whoever finds that its bootID is not the Node's.
 */
import type { NodeView } from "./cluster.ts";
import type { Instant } from "./time.ts";
import { isoOf } from "./time.ts";

export interface Work {
  readonly id: string;
  /** The boot it was written for: another boot, or another machine of that name, voids it. */
  readonly bootID: string;
  readonly group: string;
  /** Name of the lifecycle hook whose action is open; absent for spot and gone work. */
  readonly hook?: string;
  readonly deadline: Instant;
  /** True only if we set `spec.unschedulable`; only such a cordon is ever undone. */
  readonly cordoned: boolean;
  /** Names of VolumeAttachments that running pods of the node itself still want (verdict `pinned`). */
  readonly ignore: readonly string[];
  /** The CSI node pod's uid: its hook waits, and completes the lifecycle action with `token`. */
  readonly handedOver?: string;
  readonly token?: string;
}

/** What `readWork` found: `none`, an open order, one of another boot, or text that is not ours to interpret. */
export type WorkReading =
  | { readonly kind: "none" }
  | { readonly kind: "open"; readonly work: Work }
  | { readonly kind: "void"; readonly work: Work }
  | { readonly kind: "unreadable" };

/** Reads the annotation of a Node. Never throws. */
export function readWork(node: Pick<NodeView, "work" | "bootId">): WorkReading {
  if (node.work === undefined) return { kind: "none" };
  const work = parseWork(node.work);
  if (work === undefined) return { kind: "unreadable" };
  return work.bootID === node.bootId ? { kind: "open", work } : { kind: "void", work };
}

/** The annotation's value: compact JSON, the deadline in ISO 8601 because people read it. */
export function formatWork(work: Work): string {
  return JSON.stringify({ ...work, deadline: isoOf(work.deadline) });
}

function parseWork(text: string): Work | undefined {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof raw !== "object" || raw === null) return undefined;
  const field = raw as Record<string, unknown>;
  const deadline = Date.parse(textOf(field["deadline"]) ?? "");
  const id = textOf(field["id"]);
  const bootID = textOf(field["bootID"]);
  if (id === undefined || bootID === undefined || Number.isNaN(deadline)) return undefined;
  const hook = textOf(field["hook"]);
  const handedOver = textOf(field["handedOver"]);
  const token = textOf(field["token"]);
  return {
    id,
    bootID,
    group: textOf(field["group"]) ?? "",
    deadline,
    cordoned: field["cordoned"] === true,
    ignore: Array.isArray(field["ignore"]) ? field["ignore"].filter((name) => typeof name === "string") : [],
    ...(hook === undefined ? {} : { hook }),
    ...(handedOver === undefined ? {} : { handedOver }),
    ...(token === undefined ? {} : { token }),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
