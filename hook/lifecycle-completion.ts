/** H9: the hook completes the lifecycle action of the machine that it runs on, within 2 s, once, by the token that it was handed. */
import type { Work } from "../lib/drain/work-order.ts";
import { PortError } from "../lib/engine/errors.ts";
import type { Completion } from "./hold-end.ts";

/** Milliseconds: an attempt that takes longer is left to the drain, which looks again soon. */
const BUDGET = 2_000;

/** Our action, named by its token and nothing else. */
export interface HandedAction {
  readonly group: string;
  readonly hook: string;
  readonly token: string;
}

/** Loads the AWS client, which only a hook that was handed an action needs. What it gives completes with CONTINUE. */
export type LoadAutoScaling = () => Promise<(action: HandedAction) => Promise<void>>;

export class LifecycleCompletion {
  readonly #load: LoadAutoScaling;
  #loading: ReturnType<LoadAutoScaling> | undefined;

  constructor(load: LoadAutoScaling) {
    this.#load = load;
  }

  /** Loads client and credentials while there is still time. */
  prepare(): void {
    this.#completer().catch(() => {});
  }

  /** @param within milliseconds that H8 leaves. Never throws: what fails is reported, and the drain completes. */
  async complete(work: Work, within: number): Promise<Completion> {
    const { group, hook, token } = work;
    if (hook === undefined || token === undefined) {
      return { kind: "failed", reason: "work names no lifecycle hook or no token" };
    }
    const budget = Math.max(0, Math.min(BUDGET, within));
    const late = new Promise<Completion>((resolve) => {
      const reason = `no answer within ${budget / 1_000} s`;
      setTimeout(() => resolve({ kind: "failed", reason }), budget).unref();
    });
    return Promise.race([this.#attempt({ group, hook, token }), late]);
  }

  async #attempt(action: HandedAction): Promise<Completion> {
    try {
      const complete = await this.#completer();
      await complete(action);
      return { kind: "completed" };
    } catch (error) {
      if (error instanceof PortError && error.kind === "no-active-action") return { kind: "already" };
      return { kind: "failed", reason: error instanceof Error ? error.message : String(error) };
    }
  }

  /** A failed load is tried again: credentials may come a moment later. */
  #completer(): ReturnType<LoadAutoScaling> {
    if (this.#loading === undefined) {
      const loading = this.#load();
      this.#loading = loading;
      loading.catch(() => {
        this.#loading = undefined;
      });
    }
    return this.#loading;
  }
}
