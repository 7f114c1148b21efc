import type { Operation } from "rfc6902";
import { applyPatch } from "rfc6902";
import type { PatchOperation } from "../drain/cluster.ts";
import type { ApiServer } from "./api-server.ts";
import { ApiFault } from "./api-server.ts";
import type { NodeObject } from "./cluster-objects.ts";

/**
 * PATCH of a Node as JSON patch: all operations or none. 422 where one cannot be applied, a failed `test` among them; 409 under
 * another uid or resourceVersion in the result; 404. The status is another resource and stays as it is.
 */
export function patchNode(api: ApiServer, name: string, patch: readonly PatchOperation[]): NodeObject {
  const node = api.nodes.require(name);
  const patched = structuredClone(node);
  // The clones: the library puts a patch's values into the object as they are.
  const failed = applyPatch(patched, structuredClone(patch) as Operation[]).find((error) => error !== null);
  if (failed !== undefined) throw new ApiFault(422, `the server rejected our request: ${failed.name}`);
  const { uid, resourceVersion, name: newName } = patched.metadata;
  if (uid !== node.metadata.uid || resourceVersion !== node.metadata.resourceVersion || newName !== name) {
    throw new ApiFault(409, `Operation cannot be fulfilled on nodes "${name}": the object has been modified`);
  }
  if (patched.spec.unschedulable !== true) delete patched.spec.unschedulable;
  if (patched.spec.taints?.length === 0) delete patched.spec.taints;
  api.nodes.update(node, (object) => {
    object.spec = patched.spec;
    object.metadata = patched.metadata;
  });
  return node;
}
