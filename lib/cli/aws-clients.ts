/** AWS for an operator, where there is a region and there are credentials. Loaded only where AWS is asked. */
import { createAutoScalingPort } from "../aws/auto-scaling.ts";
import { type AwsPlace, createAutoScalingClient, createEc2Client } from "../aws/clients.ts";
import { createEc2Port } from "../aws/ec2.ts";
import { createEksClient } from "../aws/eks.ts";
import { createAwsInspection } from "../aws/inspection.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import type { AwsAccess } from "./operator.ts";
import { UsageError } from "./running.ts";

/**
 * `fallback` is the region of the cluster's endpoint. No credentials at all is an answer.
 * @throws UsageError where a profile was asked for and has none
 */
export async function awsClients(
  { region, profile }: ConnectionOptions,
  fallback: string | undefined,
): Promise<AwsAccess> {
  const asked: AwsPlace = {
    ...(region === undefined ? {} : { region }),
    ...(profile === undefined ? {} : { profile }),
  };
  const place = await placeOf(asked, fallback);
  if (place === undefined) {
    return { kind: "none", why: "no AWS region is known: give --region, or set AWS_REGION" };
  }
  const ec2 = createEc2Client(place);
  try {
    await ec2.config.credentials();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (profile !== undefined) throw new UsageError(`no AWS credentials in profile ${profile}: ${why}`);
    return { kind: "none", why: `no AWS credentials were found (${why})` };
  }
  const autoScaling = createAutoScalingClient(place);
  return {
    kind: "granted",
    region: place.region,
    ec2: createEc2Port(ec2),
    autoScaling: createAutoScalingPort(autoScaling),
    inspection: createAwsInspection({ autoScaling, ec2, eks: createEksClient(place) }),
  };
}

async function placeOf(
  asked: AwsPlace,
  fallback: string | undefined,
): Promise<(AwsPlace & { readonly region: string }) | undefined> {
  const region =
    asked.region ??
    (await createEc2Client(asked)
      .config.region()
      .catch(() => undefined)) ??
    fallback;
  return region === undefined ? undefined : { ...asked, region };
}
