/** Sends a presigned GetCallerIdentity on to STS, with our cluster's name: only a token that was signed for that name can pass. */
import { request } from "undici";
import { CLUSTER_HEADER, RefusedError } from "./presigned-token.ts";

export interface CallerIdentity {
  readonly arn: string;
  readonly account: string;
  readonly userId: string;
}

/** @throws RefusedError with what STS said; other errors where STS could not be asked */
export async function callerIdentity(
  url: URL,
  { cluster, stsUrl }: { readonly cluster: string; readonly stsUrl: string },
): Promise<CallerIdentity> {
  // The host that was signed, at the address of the local STS.
  const answer = await request(`${stsUrl}${url.pathname}${url.search}`, {
    headers: { host: url.host, [CLUSTER_HEADER]: cluster },
  });
  const xml = await answer.body.text();
  const field = (name: string): string => new RegExp(`<${name}>([^<]*)<`).exec(xml)?.[1] ?? "";
  if (answer.statusCode >= 500) throw new Error(`STS: ${answer.statusCode}`);
  if (answer.statusCode !== 200) {
    throw new RefusedError(`STS: ${answer.statusCode} ${field("Code")}: ${field("Message")}`);
  }
  return { arn: field("Arn"), account: field("Account"), userId: field("UserId") };
}
