/**
 * Instances that are not ours, remembered for a minute: an account's state changes all come by here, in bursts of several per
 * instance, and DescribeInstances is throttled for the whole account (D1, C9).
 *
 * Only "not ours" is remembered. Of our own instances the answer names the machine by its LaunchTime, and a stale one would name
 * the machine before a stop and start.
 */
import type { InstanceView } from "../drain/machine.ts";
import type { Instant } from "../drain/time.ts";
import { MINUTE } from "../drain/time.ts";

/** A group change within it is the sweep's to find. */
const KEPT = MINUTE;
/** About 100 bytes each. */
const MOST = 5_000;

export class ForeignInstances {
  readonly #now: () => Instant;
  /** By instance id, the oldest first. */
  readonly #known = new Map<string, { readonly view: InstanceView; readonly at: Instant }>();

  constructor(now: () => Instant) {
    this.#now = now;
  }

  get(instance: string): InstanceView | undefined {
    const entry = this.#known.get(instance);
    return entry === undefined || this.#now() - entry.at >= KEPT ? undefined : entry.view;
  }

  add(view: InstanceView): void {
    this.#known.delete(view.id);
    this.#known.set(view.id, { view, at: this.#now() });
    const oldest = this.#known.keys().next();
    if (this.#known.size > MOST && oldest.done !== true) this.#known.delete(oldest.value);
  }
}
