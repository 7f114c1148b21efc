/** What can be told of an EKS token without asking anybody: aws-iam-authenticator's checks. */

/** The token is nobody's, and why. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
}

const PREFIX = "k8s-aws-v1.";
/** Header that the signature has to cover: it ties the token to one cluster. */
export const CLUSTER_HEADER = "x-k8s-aws-id";
const VALID_MS = 15 * 60_000;
const LONGEST = 4_096;
const PARAMETERS: ReadonlySet<string> = new Set([
  "action",
  "version",
  "x-amz-algorithm",
  "x-amz-credential",
  "x-amz-date",
  "x-amz-expires",
  "x-amz-security-token",
  "x-amz-signature",
  "x-amz-signedheaders",
  "x-amz-user-agent",
]);

/** The presigned GetCallerIdentity request in the token. `now` in Unix milliseconds. @throws RefusedError */
export function presignedUrlOf(token: string, stsHost: string, now: number): URL {
  const url = urlIn(token);
  require(url.protocol === "https:" && url.username === "", "not a plain https URL");
  require(url.host === stsHost, `unexpected host ${url.host}`);
  require(url.pathname === "/", `unexpected path ${url.pathname}`);
  const query = queryOf(url);
  require(query.get("action") === "GetCallerIdentity", `unexpected action ${query.get("action")}`);
  const signed = (query.get("x-amz-signedheaders") ?? "").split(";");
  require(signed.includes(CLUSTER_HEADER), `${CLUSTER_HEADER} is not signed`);
  const expires = query.get("x-amz-expires") ?? "";
  require(/^\d{1,3}$/.test(expires) && Number(expires) <= 900, `X-Amz-Expires ${expires} is not 0 to 900`);
  const age = now - dateOf(query.get("x-amz-date") ?? "");
  require(age <= VALID_MS, `X-Amz-Date is ${Math.round(age / 1_000)} s old`);
  return url;
}

function urlIn(token: string): URL {
  require(token.startsWith(PREFIX), `no ${PREFIX} prefix`);
  require(token.length <= LONGEST, "token is too large");
  const encoded = token.slice(PREFIX.length);
  require(/^[\w-]+$/.test(encoded), "not base64url without padding");
  const text = Buffer.from(encoded, "base64url").toString();
  require(URL.canParse(text), "not a URL");
  return new URL(text);
}

function queryOf(url: URL): ReadonlyMap<string, string> {
  const query = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    const key = name.toLowerCase();
    require(PARAMETERS.has(key), `parameter ${name} is not allowed`);
    require(!query.has(key), `parameter ${name} is given twice`);
    query.set(key, value);
  }
  return query;
}

/** `20260102T030405Z` in Unix milliseconds. */
function dateOf(text: string): number {
  const iso = text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z");
  const at = Date.parse(iso);
  require(iso !== text && !Number.isNaN(at), "no X-Amz-Date");
  return at;
}

function require(isTrue: boolean, why: string): asserts isTrue {
  if (!isTrue) throw new RefusedError(why);
}
