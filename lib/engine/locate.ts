/** Finds the Node of an instance: by EC2's private DNS name with the provider id checked, else once by a list of all Nodes. */
import type { NodeView } from "../drain/cluster.ts";
import { needsNodeList } from "../drain/needs.ts";
import { type Observation, type Reading, valueOf } from "../drain/observation.ts";
import { isOfInstance } from "../drain/situation.ts";
import type { Looking } from "./observe.ts";

/**
 * Never by a host name alone: names are reused, and a Node need not be named like its instance (C10). Not found is `null`; EC2 not
 * readable is not "not found".
 */
export async function findNode(looking: Looking, before: Observation): Promise<Reading<NodeView | null>> {
  const { instance: id } = before.task;
  if (before.instance.kind === "failed") return before.instance;
  const dnsName = valueOf(before.instance)?.privateDnsName || (before.memory.dnsName ?? "");
  const { cluster } = looking.ports;
  if (dnsName !== "") {
    const byName = await looking.reader.read("kubernetes.getNode", () => cluster.getNode(dnsName));
    if (byName.kind !== "read" || isNodeOf(byName.value, id)) return byName;
  }
  if (!needsNodeList(before, looking.policy, dnsName !== "")) return { kind: "read", value: null };
  const nodes = await looking.reader.readAll("kubernetes.listNodes", () => cluster.listNodes());
  if (nodes.kind !== "read") return nodes;
  return { kind: "read", value: nodes.value.find((node) => isNodeOf(node, id)) ?? null };
}

function isNodeOf(node: NodeView | null, instance: string): boolean {
  return node?.providerId !== undefined && isOfInstance(node.providerId, instance);
}
