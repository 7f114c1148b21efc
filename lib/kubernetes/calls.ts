/** One request of the adapter: what it is called in messages, and the second try that a refused token deserves. */
import { ApiException } from "@kubernetes/client-node";
import type { ClusterConnection } from "./connection.ts";
import { type Call, toPortError } from "./errors.ts";

/**
 * Makes the request; once more with fresh credentials where they were refused. No other retry: the engine paces those.
 * @param asked such as `read of Node x`
 * @throws PortError
 */
export type Ask = <Answer>(
  method: Call["method"],
  asked: string,
  request: () => Promise<Answer>,
) => Promise<Answer>;

export function asking(connection: ClusterConnection): Ask {
  return async (method, asked, request) => {
    try {
      return await withFreshCredentials(connection, request);
    } catch (error) {
      throw toPortError({ method, asked, server: connection.server }, error);
    }
  };
}

async function withFreshCredentials<Answer>(
  connection: ClusterConnection,
  request: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await request();
  } catch (error) {
    if (!hasCode(error, 401)) throw error;
    connection.renewCredentials();
    return request();
  }
}

export function hasCode(error: unknown, code: number): boolean {
  return error instanceof ApiException && error.code === code;
}

/** The answer, or undefined where the API server knows no such object. */
export async function found<Answer>(request: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await request;
  } catch (error) {
    if (hasCode(error, 404)) return undefined;
    throw error;
  }
}
