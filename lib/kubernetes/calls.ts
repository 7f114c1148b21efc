/** One request of the adapter: what it is called in messages, and the second try that a refused token deserves. */
import { ApiException } from "@kubernetes/client-node";
import type { ClusterConnection } from "./connection.ts";
import { type Call, toPortError } from "./errors.ts";
import { textAt } from "./json-fields.ts";

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

/**
 * The object of this name, or undefined where the API server knows none. A proxy's page with status 200 would be read as an object of
 * which nothing is known.
 * @throws SyntaxError where something else was answered
 */
export async function found<Answer>(name: string, request: Promise<Answer>): Promise<Answer | undefined> {
  const answer = await request.catch((error: unknown) => {
    if (hasCode(error, 404)) return undefined;
    throw error;
  });
  if (answer === undefined || textAt(answer, "metadata", "name") === name) return answer;
  throw new SyntaxError(`not the object ${name}`);
}
