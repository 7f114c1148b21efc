/** All objects of one kind, kept current by list and watch, through any outage of the API server. */
import { setTimeout as delay } from "node:timers/promises";
import type { ApiClient } from "./api-client.ts";
import type { ApiObject, ObjectMeta } from "./api-objects.ts";

const retryMs = 250;

export class ObjectCache<T extends ApiObject> {
  readonly #client: ApiClient;
  readonly #path: string;
  readonly #onChange: (object: T) => void;
  readonly #stopping = new AbortController();
  readonly #objects = new Map<string, T>();
  #running: Promise<void> = Promise.resolve();

  /** @param onChange is also called for an object that is gone, with its last state */
  constructor(client: ApiClient, path: string, onChange: (object: T) => void) {
    this.#client = client;
    this.#path = path;
    this.#onChange = onChange;
  }

  /** Resolves when the cache has been filled for the first time. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#running = this.#follow(resolve);
    });
  }

  get(name: string, namespace?: string): T | undefined {
    return this.#objects.get(key(namespace === undefined ? { name } : { name, namespace }));
  }

  values(): readonly T[] {
    return [...this.#objects.values()];
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #follow(filled: () => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const list = await this.#client.list<T>(this.#path);
        this.#replaceAll(list.items);
        filled();
        for await (const event of this.#client.watch<T>(this.#path, list.metadata.resourceVersion, signal)) {
          // An error in the stream is "resource version too old": only a new list helps.
          if (event.type === "ERROR") break;
          if (event.type !== "BOOKMARK") this.#set(event.object, event.type === "DELETED");
        }
      } catch {
        // The API server is away, which is what some tests are about. Ask until it is back.
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
    filled();
  }

  #replaceAll(items: readonly T[]): void {
    const present = new Set(items.map(({ metadata }) => key(metadata)));
    for (const [name, object] of this.#objects) if (!present.has(name)) this.#set(object, true);
    for (const item of items) this.#set(item, false);
  }

  #set(object: T, isGone: boolean): void {
    if (isGone) this.#objects.delete(key(object.metadata));
    else this.#objects.set(key(object.metadata), object);
    this.#onChange(object);
  }
}

function key({ namespace, name }: Pick<ObjectMeta, "namespace" | "name">): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
