/** A cluster with many VolumeAttachments, of which the test's own are few. */
import type { ApiClient } from "./api-client.ts";
import { createAll } from "./create-all.ts";
import { othersAttachment } from "./volume-objects.ts";

const together = 32;

/** On nodes that are not there, of a driver that nobody speaks for: whoever lists has to read them all the same. */
export async function addOthersAttachments(api: ApiClient, count: number): Promise<void> {
  const add = async (first: number) => {
    for (let index = first; index < count; index += together) {
      const name = `other-${index}`;
      const nodeName = `ip-10-1-${index % 4}-${index % 250}.eu-west-1.compute.internal`;
      await createAll(api, [othersAttachment({ name, nodeName, attacher: "other.example.com" })]);
    }
  };
  await Promise.all(Array.from({ length: together }, (_, first) => add(first)));
}
