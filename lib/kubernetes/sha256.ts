/** The hash that SignatureV4 asks for, on Node's own. */
import type { Hash, Hmac } from "node:crypto";
import { createHash, createHmac } from "node:crypto";

type Source = string | ArrayBuffer | ArrayBufferView;

export class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: Source) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
  }

  update(data: Source): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return new Uint8Array(this.#hash.digest());
  }

  /** Part of the interface; SignatureV4 makes a new hash for each use. */
  reset(): never {
    throw new Error("a Sha256 is used once");
  }
}

function bytesOf(source: Source): string | Uint8Array {
  if (typeof source === "string") return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
}
