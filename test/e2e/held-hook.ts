/** An HTTP server that answers a preStop hook when the test says so. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface HeldHook {
  readonly port: number;
  /** How many requests wait for their answer. */
  waiting(): number;
  answer(): void;
  close(): void;
}

export async function holdHook(): Promise<HeldHook> {
  const held: (() => void)[] = [];
  const server = createServer((_request, response) => held.push(() => response.end("go")));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    waiting: () => held.length,
    answer: () => held.splice(0).forEach((end) => end()),
    close: () => server.close(),
  };
}
