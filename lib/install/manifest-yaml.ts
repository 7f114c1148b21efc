/** Manifests as YAML, headed by what whoever opens the file has to know. */
import { stringify } from "yaml";

export function manifestYaml(header: string, manifests: readonly object[]): string {
  const comment = header
    .trim()
    .split("\n")
    .map((line) => `# ${line}`.trimEnd());
  const documents = manifests.map((manifest) =>
    stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }),
  );
  return `${comment.join("\n")}\n${documents.join("---\n")}`;
}
