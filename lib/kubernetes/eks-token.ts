/**
 * Bearer tokens for EKS: a presigned GetCallerIdentity of the regional STS, whose signature covers the cluster's name. EKS replays
 * it to learn who we are.
 */
import { SignatureV4 } from "@smithy/signature-v4";
import type { AwsCredentialIdentityProvider } from "@smithy/types";
import { type Instant, MINUTE } from "../drain/time.ts";
import type { TokenSource } from "./connection.ts";
import { Sha256 } from "./sha256.ts";

export interface EksTokenOptions {
  readonly cluster: string;
  readonly region: string;
  /** Such as an AWS client's `config.credentials`. */
  readonly credentials: AwsCredentialIdentityProvider;
  readonly now?: () => Instant;
}

/** EKS accepts a token for 15 min from its signature; a call made with it should not be refused half-way through. */
const KEPT = 10 * MINUTE;
/** X-Amz-Expires, seconds: EKS refuses more than 15 min and looks at the signature's age itself. */
const EXPIRES_IN = 60;
const CLUSTER_HEADER = "x-k8s-aws-id";

/** STS's domain per partition, by the region's prefix. */
const DNS_SUFFIXES: readonly (readonly [prefix: string, suffix: string])[] = [
  ["cn-", "amazonaws.com.cn"],
  ["eusc-", "amazonaws.eu"],
  ["us-iso-", "c2s.ic.gov"],
  ["us-isob-", "sc2s.sgov.gov"],
  ["us-isof-", "csp.hci.ic.gov"],
  ["eu-isoe-", "cloud.adc-e.uk"],
];

/**
 * Tokens for one cluster. One is used again for up to 10 min; `fresh` signs another one. Calls at the same time share a signature.
 * Rejects with whatever the credentials provider rejects with.
 */
export function eksTokens(options: EksTokenOptions): TokenSource {
  const now = options.now ?? Date.now;
  let kept: { readonly token: Promise<string>; readonly at: Instant } | undefined;
  return ({ fresh } = { fresh: false }) => {
    // X-Amz-Date has whole seconds: a token of this very second would be the refused one again, and is shared instead.
    const isUsable = kept !== undefined && now() - kept.at < (fresh ? 1_000 : KEPT);
    if (kept !== undefined && isUsable) return kept.token;
    const at = now();
    const token = signToken(options, at);
    const mine = { token, at };
    kept = mine;
    token.catch(() => {
      if (kept === mine) kept = undefined;
    });
    return token;
  };
}

async function signToken(options: EksTokenOptions, at: Instant): Promise<string> {
  const { cluster, region, credentials } = options;
  const host = `sts.${region}.${dnsSuffix(region)}`;
  const signer = new SignatureV4({ service: "sts", region, credentials, sha256: Sha256 });
  const signed = await signer.presign(
    {
      method: "GET",
      protocol: "https:",
      hostname: host,
      path: "/",
      headers: { host, [CLUSTER_HEADER]: cluster },
      query: { Action: "GetCallerIdentity", Version: "2011-06-15" },
    },
    {
      expiresIn: EXPIRES_IN,
      // As a header it is signed; moved into the query it would not be what EKS sends.
      unhoistableHeaders: new Set([CLUSTER_HEADER]),
      signingDate: new Date(at),
    },
  );
  const query = Object.entries(signed.query ?? {})
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
  return `k8s-aws-v1.${Buffer.from(`https://${host}/?${query}`).toString("base64url")}`;
}

function dnsSuffix(region: string): string {
  return DNS_SUFFIXES.find(([prefix]) => region.startsWith(prefix))?.[1] ?? "amazonaws.com";
}
