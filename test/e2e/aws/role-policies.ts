/** Takes a right away from a deployed role for a while, as a mistake in somebody's policy would. */
import type { RootClient } from "./local-aws.ts";
import { callQuery, textsOf } from "./service-call.ts";

interface Statement {
  readonly Action: string | readonly string[];
}

interface PolicyDocument {
  readonly Statement: readonly Statement[];
}

/** @returns what gives it back. @throws where the role does not have it */
export async function takeAway(
  client: RootClient,
  role: string,
  action: string,
): Promise<() => Promise<void>> {
  const names = textsOf(await callQuery(client, "iam", "ListRolePolicies", { RoleName: role }), "member");
  for (const name of names) {
    const policy = { RoleName: role, PolicyName: name };
    const [text = ""] = textsOf(await callQuery(client, "iam", "GetRolePolicy", policy), "PolicyDocument");
    const before = decodeURIComponent(text);
    const document = JSON.parse(before) as PolicyDocument;
    if (!document.Statement.some((statement) => actionsOf(statement).includes(action))) continue;
    const put = async (PolicyDocument: string): Promise<void> => {
      await callQuery(client, "iam", "PutRolePolicy", { ...policy, PolicyDocument });
    };
    await put(JSON.stringify(without(document, action)));
    return () => put(before);
  }
  throw new Error(`${role} has no ${action} that could be taken away`);
}

/** Every action that the role's own policies allow. */
export async function actionsOfRole(client: RootClient, role: string): Promise<ReadonlySet<string>> {
  const names = textsOf(await callQuery(client, "iam", "ListRolePolicies", { RoleName: role }), "member");
  const documents = await Promise.all(
    names.map(async (PolicyName) => {
      const xml = await callQuery(client, "iam", "GetRolePolicy", { RoleName: role, PolicyName });
      return JSON.parse(decodeURIComponent(textsOf(xml, "PolicyDocument")[0] ?? "")) as PolicyDocument;
    }),
  );
  return new Set(documents.flatMap(({ Statement }) => Statement.flatMap(actionsOf)));
}

function without(document: PolicyDocument, action: string): PolicyDocument {
  const left = document.Statement.map((statement) => ({
    ...statement,
    Action: actionsOf(statement).filter((each) => each !== action),
  }));
  return { ...document, Statement: left.filter(({ Action }) => Action.length > 0) };
}

function actionsOf({ Action }: Statement): readonly string[] {
  return typeof Action === "string" ? [Action] : Action;
}
