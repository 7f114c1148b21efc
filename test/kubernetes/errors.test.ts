import { ApiException } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { PortError } from "../../lib/engine/errors.ts";
import { CredentialsError } from "../../lib/kubernetes/connection.ts";
import { type Call, toPortError } from "../../lib/kubernetes/errors.ts";

const EVICTION: Call = {
  method: "evictPod",
  asked: "eviction of pod shop/db-0",
  server: "https://abc.gr7.eu-west-1.eks.amazonaws.com",
};

function answered(code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): PortError {
  const text = typeof body === "object" ? JSON.stringify(body) : body;
  return toPortError(EVICTION, new ApiException(code, "Unknown API Status Code!", text, { ...headers }));
}

describe("the API server's answers", () => {
  it.each([
    [401, undefined, "unauthenticated"],
    [403, { message: 'pods "db-0" is forbidden', details: { name: "db-0", kind: "pods" } }, "forbidden"],
    [404, { message: 'pods "db-0" not found' }, "not-found"],
    [409, { message: "the UID in the precondition does not match" }, "conflict"],
    [410, { message: "The provided continue parameter is too old" }, "server"],
    [408, "", "server"],
    [429, "Too many requests, please try again later.\n", "throttled"],
    [429, { message: "too many requests", details: { causes: [{ reason: "Other" }] } }, "throttled"],
    [500, { message: "etcdserver: leader changed" }, "server"],
    [503, "<html>Service Unavailable</html>", "server"],
    [504, { message: "couldn't update PodDisruptionBudget" }, "server"],
    [400, { message: "bad request" }, "rejected"],
    [415, { message: "unsupported media type" }, "rejected"],
  ])("%i %j is %s", (code, body, kind) => {
    const error = answered(code, body);
    expect(error).toBeInstanceOf(PortError);
    expect(error.kind).toBe(kind);
    expect(error.operation).toBe("kubernetes.evictPod");
  });

  it("name what was asked, of which host, and the server's own words", () => {
    const error = answered(404, { message: 'pods "db-0" not found' });
    expect(error.message).toBe(
      'eviction of pod shop/db-0 at abc.gr7.eu-west-1.eks.amazonaws.com: pods "db-0" not found (404)',
    );
  });

  it("are cut where they repeat whole objects", () => {
    expect(answered(422, { message: "x".repeat(100_000) }).message.length).toBeLessThan(1_000);
  });
});

describe("a PodDisruptionBudget's refusal", () => {
  it("is told from throttling by its cause and names the budget (D7)", () => {
    const message = "The disruption budget db needs 1 healthy pods and has 1 currently";
    const error = answered(429, {
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: { causes: [{ reason: "DisruptionBudget", message }] },
    });
    expect(error).toMatchObject({ kind: "disruption-budget", budget: "db" });
    expect(error.message).toContain(message);
    expect(error.retryAfter).toBeUndefined();
  });

  it("says when to ask again, where the server does", () => {
    const body = {
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: {
        causes: [
          {
            reason: "DisruptionBudget",
            message: "The disruption budget db is still being processed by the server.",
          },
        ],
        retryAfterSeconds: 10,
      },
    };
    expect(answered(429, body)).toMatchObject({ budget: "db", retryAfter: 10 });
    expect(answered(429, body, { "retry-after": "7" })).toMatchObject({ retryAfter: 7 });
  });

  it("without a name in its message is one nevertheless", () => {
    const error = answered(429, { details: { causes: [{ reason: "DisruptionBudget", message: "no" }] } });
    expect(error.kind).toBe("disruption-budget");
    expect(error.budget).toBeUndefined();
  });

  it("comes as 403 when its controller lags behind, and is no matter of rights", () => {
    const error = answered(403, {
      message: 'poddisruptionbudget.policy "db" is forbidden: DisruptedPods map too big',
      reason: "Forbidden",
      details: { name: "db", group: "policy", kind: "poddisruptionbudget" },
    });
    expect(error).toMatchObject({ kind: "disruption-budget", budget: "db" });
  });

  it("of several budgets over one pod is the server's error and says so", () => {
    const message =
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    const error = answered(500, { message });
    expect(error.kind).toBe("server");
    expect(error.message).toContain(message);
  });
});

describe("403", () => {
  it("in a namespace that ends is no matter of rights (D7)", () => {
    const error = answered(403, {
      message: 'pods "db-0" is forbidden: unable to create new content in namespace shop',
      details: { kind: "pods", causes: [{ reason: "NamespaceTerminating" }] },
    });
    expect(error.kind).toBe("namespace-terminating");
  });

  it("names the verb, the resource and the fix", () => {
    const { message } = answered(403, { message: "no", details: { kind: "pods" } });
    expect(message).toContain("create on pods/eviction");
    expect(message).toContain("manifests/rbac.yaml");
    expect(message).toContain("group ebs-drain");
  });
});

describe("422", () => {
  it("of a JSON patch that does not fit what is there is a conflict (D5)", () => {
    const error = answered(422, {
      message: "the server rejected our request due to an error in our request",
      reason: "Invalid",
      details: {},
    });
    expect(error.kind).toBe("conflict");
  });

  it("of another pod's uid is a conflict", () => {
    const error = answered(422, {
      message: 'Pod "db-0" is invalid: metadata.uid: field is immutable',
      details: {
        name: "db-0",
        kind: "Pod",
        causes: [{ reason: "FieldValueInvalid", field: "metadata.uid" }],
      },
    });
    expect(error.kind).toBe("conflict");
  });

  it("of a value that the API refuses is our fault", () => {
    const error = answered(422, {
      message: 'Node "n" is invalid: metadata.taints[0].key',
      details: { name: "n", causes: [{ reason: "FieldValueInvalid", field: "metadata.taints[0].key" }] },
    });
    expect(error.kind).toBe("rejected");
  });
});

describe("no answer at all", () => {
  const failed = (cause: Error): Error => new TypeError("fetch failed", { cause });
  const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

  it.each([
    ["ECONNREFUSED", "connect ECONNREFUSED 10.0.0.1:443"],
    ["ECONNRESET", "read ECONNRESET"],
    ["ETIMEDOUT", "connect ETIMEDOUT"],
    ["EHOSTUNREACH", "connect EHOSTUNREACH"],
    ["ENETUNREACH", "connect ENETUNREACH"],
    ["EPIPE", "write EPIPE"],
    ["ENOTFOUND", "getaddrinfo ENOTFOUND abc"],
    ["EAI_AGAIN", "getaddrinfo EAI_AGAIN abc"],
    ["UND_ERR_CONNECT_TIMEOUT", "Connect Timeout Error"],
    ["UND_ERR_HEADERS_TIMEOUT", "Headers Timeout Error"],
    ["UND_ERR_BODY_TIMEOUT", "Body Timeout Error"],
    ["UND_ERR_SOCKET", "other side closed"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "Hostname does not match certificate's altnames"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "self-signed certificate in certificate chain"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the first certificate"],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "unable to get local issuer certificate"],
    ["CERT_HAS_EXPIRED", "certificate has expired"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "wrong version number"],
  ])("for %s is the network's, and the message has the reason", (code, message) => {
    const error = toPortError(EVICTION, failed(coded(code, message)));
    expect(error.kind).toBe("network");
    expect(error.message).toContain(message);
    expect(error.message).toContain("security group");
  });

  it("at every address of the host is the network's", () => {
    const each = [coded("ECONNREFUSED", "connect ECONNREFUSED ::1:443")];
    const error = toPortError(EVICTION, failed(new AggregateError(each)));
    expect(error.kind).toBe("network");
    expect(error.message).toContain("connect ECONNREFUSED ::1:443");
  });

  it("for want of credentials is unauthenticated", () => {
    const error = toPortError(EVICTION, new CredentialsError("no token: expired"));
    expect(error.kind).toBe("unauthenticated");
    expect(error.message).toContain("no token: expired");
  });
});

describe("whatever else is thrown", () => {
  it("is the server's where it is half an answer", () => {
    expect(toPortError(EVICTION, new SyntaxError("Unexpected end of JSON input")).kind).toBe("server");
  });

  it.each([new TypeError("x is not a function"), "text", undefined])("is our own fault: %s", (thrown) => {
    expect(toPortError(EVICTION, thrown)).toMatchObject({ kind: "rejected", cause: thrown });
  });

  it("stays what it is where it is a PortError already", () => {
    const error = new PortError("throttled", "kubernetes.getNode", "slow");
    expect(toPortError(EVICTION, error)).toBe(error);
  });
});
