/** The region that this machine is in: from the environment, else from the instance's metadata (IMDSv2). */
import * as http from "node:http";

/** Milliseconds; the service is on the machine itself. */
const TIMEOUT = 1_000;
const TOKEN_SECONDS = "60";
const SERVICE = "http://169.254.169.254";

/** Rejects where neither knows. */
export async function findRegion(environment: Readonly<Record<string, string | undefined>>): Promise<string> {
  const named = environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? "";
  if (named !== "") return named;
  const service = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? SERVICE;
  const token = await ask(new URL("/latest/api/token", service), "PUT", {
    "x-aws-ec2-metadata-token-ttl-seconds": TOKEN_SECONDS,
  });
  return ask(new URL("/latest/meta-data/placement/region", service), "GET", {
    "x-aws-ec2-metadata-token": token,
  });
}

function ask(url: URL, method: string, headers: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, timeout: TIMEOUT, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (piece: string) => (text += piece));
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 200 && text !== "") resolve(text.trim());
        else
          reject(
            new Error(`the instance's metadata service answers ${answer.statusCode} for ${url.pathname}`),
          );
      });
    });
    request.on("timeout", () => request.destroy(new Error("the instance's metadata service is silent")));
    request.on("error", reject);
    request.end();
  });
}
