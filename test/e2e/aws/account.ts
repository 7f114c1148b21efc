/** The account whose root the tests are, and the cluster in it. */
import { REGION } from "../region.ts";

export { ACCOUNT, REGION } from "../region.ts";

/** Of the EKS cluster: its API server is the test's own. */
export const CLUSTER = "blue";
/** Another one in the same account, with the same API server behind it and no access entries of ours. */
export const OTHER_CLUSTER = "green";

/** MiniStack takes an account's number for its root's access key, with this secret. */
export const ROOT = { accessKeyId: "111122223333", secretAccessKey: "test" } as const;

/** Nothing of the machine's own AWS configuration reaches the tests or what they start. */
export const NO_PROFILE: Readonly<Record<string, string>> = {
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_PROFILE: "",
  AWS_SESSION_TOKEN: "",
  AWS_REGION: REGION,
  AWS_DEFAULT_REGION: REGION,
  AWS_ACCESS_KEY_ID: ROOT.accessKeyId,
  AWS_SECRET_ACCESS_KEY: ROOT.secretAccessKey,
};
