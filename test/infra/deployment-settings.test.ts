import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import { deploymentSchema, readDeployment } from "../../lib/infra/deployment-settings.ts";

const PROJECT = new URL("../../", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "ebs-drain-config-"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const GOOD = {
  clusters: [{ name: "blue", groups: ["workers-a"] }],
  monitoring: { alarmTopicArn: "arn:aws:sns:eu-west-1:111122223333:on-call" },
};

function pathsOf(raw: unknown): readonly string[] {
  const reading = readDeployment(raw);
  return reading.kind === "valid" ? [] : reading.problems.map(({ path }) => path);
}

describe("a deployment's configuration", () => {
  it("is read as it was given, without the policy's defaults", () => {
    const more = {
      ...GOOD,
      stackName: "drains",
      region: "eu-west-1",
      account: "111122223333",
      policy: { maxDuration: 3_600 },
      vpc: { subnetIds: ["subnet-0a1b2c3d"], securityGroupIds: ["sg-0a1b2c3d"] },
    };

    const ofNodeGroups = {
      ...GOOD,
      clusters: [{ name: "blue", managedNodeGroups: ["general"], hookCredentials: "none" }],
      retainOnAbandon: true,
    };

    expect(readDeployment(GOOD)).toEqual({ kind: "valid", settings: GOOD });
    expect(readDeployment(ofNodeGroups)).toEqual({ kind: "valid", settings: ofNodeGroups });
    expect(readDeployment(more)).toEqual({ kind: "valid", settings: more });
  });

  it("is valid in the sample", () => {
    const sample: unknown = parse(readFileSync(new URL("examples/deployment.yaml", PROJECT), "utf8"));

    expect(pathsOf(sample)).toEqual([]);
  });

  it("tells all its problems at once, those of the functions' settings among them", () => {
    expect(
      pathsOf({
        stackName: "1st",
        clusters: [{ name: "blue", groups: [] }],
        policy: { heartbeatTimeout: 30 },
        vpc: { subnetIds: ["subnet"], securityGroupIds: [] },
        monitoring: { alarmTopicArn: "on-call", alarmTopic: "x" },
        regoin: "eu-west-1",
      }).toSorted(),
    ).toEqual(
      [
        "clusters[0].groups",
        "monitoring.alarmTopic",
        "monitoring.alarmTopicArn",
        "policy.heartbeatTimeout",
        "regoin",
        "stackName",
        "vpc.securityGroupIds",
        "vpc.subnetIds[0]",
      ].toSorted(),
    );
  });

  it("tells what is wrong with node groups and with the hook's credentials", () => {
    const clusters = [
      { name: "blue" },
      { name: "green", managedNodeGroups: ["a/b"], hookCredentials: "irsa" },
      { name: "red", managedNodeGroups: ["a", "a"], hookCredentials: { namespace: "storage" } },
      { name: "grey", groups: ["a"], hookCredentials: { instanceRoles: [] } },
      { name: "blue", groups: ["a"], managedNodegroups: ["b"] },
    ];

    expect(pathsOf({ ...GOOD, clusters }).toSorted()).toEqual(
      [
        "clusters[0].groups",
        "clusters[1].managedNodeGroups[0]",
        "clusters[1].hookCredentials",
        "clusters[2].managedNodeGroups",
        "clusters[2].hookCredentials.serviceAccount",
        "clusters[3].hookCredentials.instanceRoles",
        "clusters[4].managedNodegroups",
        "clusters[4].name",
        "clusters[4].groups[0]",
      ].toSorted(),
    );
  });

  it.each([
    ["monitoring left out", { clusters: GOOD.clusters }, ["monitoring"]],
    ["monitoring that is on without a topic", { ...GOOD, monitoring: "on" }, ["monitoring"]],
    ["a list", [GOOD], [""]],
    ["nothing", undefined, [""]],
  ])("is refused with %s", (_, raw, paths) => {
    expect(pathsOf(raw)).toEqual(paths);
  });

  it.each([["off"], [false]])(
    "is watched by other means where monitoring is %s, as YAML readers have it",
    (off) => {
      expect(readDeployment({ ...GOOD, monitoring: off })).toEqual({
        kind: "valid",
        settings: { ...GOOD, monitoring: "off" },
      });
    },
  );
});

interface ObjectSchema {
  readonly properties: Readonly<Record<string, ObjectSchema>>;
  readonly items: ObjectSchema;
  readonly required?: readonly string[];
  readonly additionalProperties: boolean;
  readonly default?: unknown;
}

describe("the JSON Schema for editors", () => {
  const schema = JSON.parse(readFileSync(new URL("schema/deployment.json", PROJECT), "utf8")) as ObjectSchema;

  it("is what `npm run schema` makes of the checks", () => {
    expect(schema).toEqual(JSON.parse(JSON.stringify(deploymentSchema())));
  });

  it("has every key that is read, and says of the policy what each field's default is", () => {
    const { clusters, policy } = schema.properties;

    expect(schema.required).toEqual(["clusters", "monitoring"]);
    expect([schema, clusters?.items, policy].map((each) => each?.additionalProperties)).toEqual(
      Array(3).fill(false),
    );
    expect(Object.keys(clusters?.items.properties ?? {})).toEqual(
      expect.arrayContaining(["name", "groups", "managedNodeGroups", "hookCredentials", "endpoint"]),
    );
    expect(
      Object.fromEntries(
        Object.entries(policy?.properties ?? {}).map(([key, field]) => [key, field.default]),
      ),
    ).toEqual(DEFAULT_POLICY);
  });

  it("is named in the sample, where editors look for it", () => {
    const sample = readFileSync(new URL("examples/deployment.yaml", PROJECT), "utf8");

    expect(sample).toMatch(/^# yaml-language-server: \$schema=\.\.\/schema\/deployment\.json\n/);
  });
});

/** Runs the app, which has to fail before it makes anything. */
async function refusal(config: string): Promise<string> {
  const outdir = `${config}.out`;
  const ran = promisify(execFile)(process.execPath, ["bin/cdk.ts"], {
    cwd: PROJECT,
    env: { CDK_CONTEXT_JSON: JSON.stringify({ config }), CDK_OUTDIR: outdir },
  });
  const { code, stdout, stderr } = await ran.then(
    () => ({ code: 0, stdout: "", stderr: "" }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  expect({ code, stdout, made: existsSync(join(outdir, "manifest.json")) }).toEqual({
    code: 1,
    stdout: "",
    made: false,
  });
  return stderr;
}

describe("the app", () => {
  it("names the file and every problem in it with its path, or why it cannot be read, and makes nothing", async () => {
    const file = join(folder, "deployment.yaml");
    writeFileSync(file, "clusters: [{ name: blue, groups: [] }]\nmonitoring: on\n");

    const [wrong, missing] = await Promise.all([refusal(file), refusal(join(folder, "nowhere.yaml"))]);

    expect(wrong).toMatch(
      /^.*deployment\.yaml is not usable:\n- clusters\[0\]\.groups: .+\n- monitoring: .+\n$/,
    );
    expect(missing).toMatch(/^.*nowhere\.yaml is not usable:\n- ENOENT.+\n$/);
  });
});
