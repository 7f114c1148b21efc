/** What the package gives to other apps: the construct, and what is said to it. */
export type { Policy } from "../drain/policy.ts";
export type { Problem } from "../drain/settings.ts";
export { EbsDrain } from "./ebs-drain.ts";
export type {
  DrainedCluster,
  EbsDrainProps,
  FunctionsVpc,
  HookCredentials,
  Monitoring,
  ServiceAccount,
} from "./props.ts";
export { SettingsError } from "./settings-of-props.ts";
