/** Free TCP ports on the loopback interface. */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * Below the range from which the kernel gives ports to outgoing connections: a test that kills the API server and
 * starts it again needs the same port back, and a client that knocks at a dead port of that range may end up
 * connected to itself and occupy it.
 */
const lowest = 20_000;
const highest = 30_000;

/** @throws where 100 random ports do not hold that many free ones */
export async function freePorts(count: number): Promise<readonly number[]> {
  const found = new Set<number>();
  for (let attempt = 0; attempt < 100 && found.size < count; attempt++) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) found.add(port);
  }
  if (found.size < count) throw new Error(`no ${count} free ports on 127.0.0.1, ${lowest} to ${highest}`);
  return [...found];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
