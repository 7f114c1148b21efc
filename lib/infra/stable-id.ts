/** Construct ids that stay when a list is put into another order. */
import { Stack, Token } from "aws-cdk-lib";
import type { Construct } from "constructs";

/**
 * An id made of what it stands for. By its place in a list, a hook would change hands when the list does, and CloudFormation
 * deletes a hook's old holder after it has made the new one: the group would be left without.
 */
export function stableId(scope: Construct, name: string): string {
  return Token.isUnresolved(name) ? JSON.stringify(Stack.of(scope).resolve(name)) : name;
}
