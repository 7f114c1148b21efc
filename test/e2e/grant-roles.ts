/** Gives the drain's group exactly the roles that the product installs. */
import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";
import type { ApiClient } from "./api-client.ts";
import type { ApiObject } from "./api-objects.ts";

export async function grantRoles(api: ApiClient): Promise<void> {
  const file = new URL("../../manifests/rbac.yaml", import.meta.url);
  for (const document of parseAllDocuments(await readFile(file, "utf8"))) {
    const role = document.toJS() as ApiObject;
    const { namespace } = role.metadata;
    const scope = namespace === undefined ? "" : `/namespaces/${namespace}`;
    await api.create(`/apis/rbac.authorization.k8s.io/v1${scope}/${role.kind.toLowerCase()}s`, role);
  }
}
