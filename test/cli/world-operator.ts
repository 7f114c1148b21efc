/** An operator at the embedded world: the commands' own code, in virtual time. */
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import { SECOND } from "../../lib/drain/time.ts";
import type { AwsInspectionPort } from "../../lib/aws/inspection.ts";
import type { Operator } from "../../lib/cli/operator.ts";
import type { ExitCode } from "../../lib/cli/running.ts";
import { told } from "../../lib/cli/running.ts";
import type { Terminal } from "../../lib/cli/simulate.ts";
import type { InspectionPort } from "../../lib/kubernetes/inspection.ts";
import { CLUSTER, REGION, type World } from "../../lib/sim/world.ts";
import { KeptTerminal } from "./terminal.ts";

export interface Answer {
  readonly code: ExitCode;
  readonly out: string;
  readonly errors: string;
}

/** What a test says of a cluster that the simulated one has nothing of; asking anything else fails the test. */
export function inspectionOf(differs: Partial<InspectionPort> = {}): InspectionPort {
  const nothing = (): Promise<never> => Promise.reject(new Error("this command asks nothing of that"));
  return {
    getVersion: nothing,
    listBudgets: nothing,
    listDaemonSets: nothing,
    listDeployments: nothing,
    listDriverPods: nothing,
    listStatefulSets: nothing,
    listBoundVolumes: nothing,
    listZoneNodes: nothing,
    reviewOwnAccess: nothing,
    reviewAccessOf: nothing,
    ...differs,
  };
}

/** The same of AWS. */
export function awsInspectionOf(differs: Partial<AwsInspectionPort> = {}): AwsInspectionPort {
  const nothing = (): Promise<never> => Promise.reject(new Error("this command asks nothing of that"));
  return {
    listHooks: nothing,
    describeAccess: nothing,
    listAccessEntries: nothing,
    tryDescribeInstances: nothing,
    tryDescribeVolumes: nothing,
    ...differs,
  };
}

export function operatorOf(world: World, differs: Partial<Operator> = {}): Operator {
  return {
    cluster: world.clusterPort,
    inspection: inspectionOf({ listBudgets: async () => [] }),
    clusterName: CLUSTER,
    server: "https://prod-1.example",
    aws: { kind: "granted", region: REGION, ...world.aws, inspection: awsInspectionOf() },
    policy: DEFAULT_POLICY,
    groups: [],
    now: world.clock.now,
    ...differs,
  };
}

/** Runs the command in the world until it ends, for at most this many seconds of its time. */
export async function runIn(
  world: World,
  command: (terminal: Terminal) => Promise<ExitCode>,
  { seconds = 600, terminal = new KeptTerminal() } = {},
): Promise<Answer> {
  const { clock } = world;
  let code: ExitCode | undefined;
  const ended = clock.actor("command", () => told(command, terminal)).then((answer) => (code = answer));
  await clock.advance(clock.now() + seconds * SECOND, () => code !== undefined);
  if (code === undefined) throw new Error(`still at it after ${seconds} s: ${terminal.printed.join("\n")}`);
  await ended;
  return { code, out: terminal.printed.join("\n"), errors: terminal.complaints.join("\n") };
}
