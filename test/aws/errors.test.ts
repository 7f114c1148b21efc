import { describe, expect, test } from "vitest";
import { toPortError } from "../../lib/aws/errors.ts";
import type { FailureKind } from "../../lib/engine/errors.ts";
import { PortError } from "../../lib/engine/errors.ts";

/** An error as the AWS SDK makes it from an answer. */
function answered(code: string, status: number, message = "no details"): Error {
  return Object.assign(new Error(message), {
    name: code,
    Code: code,
    $metadata: { httpStatusCode: status },
  });
}

/** An error as Node makes it where there was no answer. */
function unanswered(code: string): Error {
  return Object.assign(new Error(`connect ${code}`), { code, $metadata: { attempts: 2 } });
}

describe("errors of the AWS clients", () => {
  const cases: readonly (readonly [Error, FailureKind])[] = [
    [answered("RequestLimitExceeded", 503), "throttled"],
    [answered("Throttling", 400), "throttled"],
    [answered("ThrottlingException", 400), "throttled"],
    [answered("TooManyRequestsException", 429), "throttled"],
    [answered("EC2ThrottledException", 502), "throttled"],
    [answered("UnheardOf", 429), "throttled"],
    [answered("ResourceContention", 500), "server"],
    [answered("ResourceContentionFault", 400), "server"],
    [answered("InternalError", 500), "server"],
    [answered("ServiceException", 500), "server"],
    [answered("ResourceConflictException", 409), "server"],
    [answered("UnheardOf", 502), "server"],
    [answered("AuthFailure", 401), "unauthenticated"],
    [answered("ExpiredToken", 403), "unauthenticated"],
    [answered("ExpiredTokenException", 403), "unauthenticated"],
    [answered("RequestExpired", 400), "unauthenticated"],
    [answered("UnrecognizedClientException", 403), "unauthenticated"],
    [answered("UnheardOf", 401), "unauthenticated"],
    [Object.assign(new Error("none found"), { name: "CredentialsProviderError" }), "unauthenticated"],
    [answered("UnauthorizedOperation", 403), "forbidden"],
    [answered("AccessDenied", 403), "forbidden"],
    [answered("AccessDeniedException", 403), "forbidden"],
    [answered("UnheardOf", 403), "forbidden"],
    [answered("ValidationError", 400, "No active Lifecycle Action found with token 1"), "no-active-action"],
    [
      answered("ValidationError", 400, "No active Lifecycle Action found with instance ID i-1"),
      "no-active-action",
    ],
    [answered("ValidationError", 400, "AutoScalingGroup name not found - x"), "rejected"],
    [answered("InvalidInstanceID.Malformed", 400), "rejected"],
    [answered("InvalidInstanceID.NotFound", 400), "not-found"],
    [answered("ResourceNotFoundException", 404), "not-found"],
    [unanswered("ECONNREFUSED"), "network"],
    [unanswered("ECONNRESET"), "network"],
    [unanswered("ENOTFOUND"), "network"],
    [unanswered("CERT_HAS_EXPIRED"), "network"],
    [Object.assign(new Error("timed out"), { name: "TimeoutError" }), "network"],
    [new TypeError("x is not a function"), "rejected"],
  ];

  test.each(cases)("%s means %s", (error, kind) => {
    expect(toPortError("autoScaling.complete", error)).toMatchObject({
      name: "PortError",
      kind,
      operation: "autoScaling.complete",
      cause: error,
    });
  });

  test.each([
    ["ec2.describeInstance", "ec2:DescribeInstances"],
    ["ec2.listAttachedVolumes", "ec2:DescribeVolumes"],
    ["autoScaling.heartbeat", "autoscaling:RecordLifecycleActionHeartbeat"],
    ["executions.start", "lambda:InvokeFunction"],
    ["eks.describeCluster", "eks:DescribeCluster"],
  ])("a refusal of %s names the IAM action to grant: %s (C34)", (operation, action) => {
    const { message } = toPortError(operation, answered("AccessDenied", 403, "User: x is not authorized"));
    expect(message).toContain(`grant ${action}`);
    expect(message).toContain("User: x is not authorized");
  });

  test("a PortError stays what it is", () => {
    const error = new PortError("network", "ec2.describeInstance", "gone");
    expect(toPortError("ec2.describeVolumes", error)).toBe(error);
  });

  test("what is no Error at all is told as text", () => {
    expect(toPortError("ec2.describeInstance", "broken")).toMatchObject({
      kind: "rejected",
      message: "ec2.describeInstance: broken",
    });
  });
});
