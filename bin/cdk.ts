/** The CDK app: `cdk synth -c config=FILE`, or the same settings under `ebs-drain` in the context of cdk.json. Asks nothing of AWS. */
import { readFileSync } from "node:fs";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { parse } from "yaml";
import { PRODUCT } from "../lib/drain/names.ts";
import { readDeployment } from "../lib/infra/deployment-settings.ts";
import { EbsDrainStack } from "../lib/infra/ebs-drain-stack.ts";
import { SettingsError, lineOf } from "../lib/infra/settings-of-props.ts";

const app = new App();
const file: unknown = app.node.tryGetContext("config");

try {
  const raw = typeof file === "string" ? read(file) : (app.node.tryGetContext(PRODUCT) as unknown);
  const reading = readDeployment(raw);
  if (reading.kind === "invalid") throw new SettingsError(reading.problems);
  new EbsDrainStack(app, reading.settings);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  const where = typeof file === "string" ? file : "the context of cdk.json";
  console.error(`${where} is not usable:\n${error.problems.map(lineOf).join("\n")}`);
  process.exit(1);
}

/** JSON is YAML too. Throws SettingsError. */
function read(path: string): unknown {
  try {
    return parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new SettingsError([{ path: "", problem: error instanceof Error ? error.message : String(error) }]);
  }
}
