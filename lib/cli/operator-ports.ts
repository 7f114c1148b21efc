/** The engine's ports, made of an operator's connections. */
import type { MetricName } from "../drain/names.ts";
import { PortError } from "../engine/errors.ts";
import type { AutoScalingPort, Ec2Port, LookRecord, Ports } from "../engine/ports.ts";
import type { Operator } from "./operator.ts";

export interface Listener {
  readonly look: (record: LookRecord) => void;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}

const DEAF: Listener = { look: () => undefined, log: () => undefined };

/** Metrics are left out: nobody's dashboard is about a laptop. */
export function portsOf({ cluster, aws, now }: Operator, listener: Listener = DEAF): Ports {
  const { ec2, autoScaling } = aws.kind === "granted" ? aws : { ec2: NO_EC2, autoScaling: NO_AUTO_SCALING };
  const metric = (_name: MetricName): void => undefined;
  return { cluster, ec2, autoScaling, telemetry: { ...listener, metric }, now };
}

function refusing(operation: string): () => Promise<never> {
  return () =>
    Promise.reject(new PortError("unauthenticated", operation, `${operation}: there are no AWS credentials`));
}

/** A task with `sources: "kubernetes"` asks none of these. */
const NO_EC2: Ec2Port = {
  describeInstance: refusing("ec2.describeInstance"),
  describeInstances: refusing("ec2.describeInstances"),
  listAttachedVolumes: refusing("ec2.listAttachedVolumes"),
  describeVolumes: refusing("ec2.describeVolumes"),
};
const NO_AUTO_SCALING: AutoScalingPort = {
  describeMember: refusing("autoScaling.describeMember"),
  listMembers: refusing("autoScaling.listMembers"),
  heartbeat: refusing("autoScaling.heartbeat"),
  complete: refusing("autoScaling.complete"),
};
