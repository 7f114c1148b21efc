/**
 * What the drains in a log of the functions cost, counted: `npm start --silent -- --log | node scripts/count-requests.ts`, or a log taken from CloudWatch
 * with one JSON object a line.
 */
import { text } from "node:stream/consumers";

interface Line {
  readonly message?: string;
  readonly work?: string;
  readonly calls?: Readonly<Record<string, number>>;
  readonly actions?: readonly string[];
  readonly _aws?: {
    readonly CloudWatchMetrics: readonly {
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string }[];
    }[];
  };
}

const log = await text(process.stdin);
const lines = log.split("\n").flatMap(parsed);
const looks = lines.filter(({ message }) => message === "look");
const reads = Map.groupBy(
  looks.flatMap(({ calls = {} }) => Object.entries(calls)),
  ([method]) => method.split(".")[0],
);
const changes = looks.flatMap(({ actions = [] }) => actions.filter((action) => !action.startsWith("metric")));

console.log(`pieces of work      ${new Set(looks.map(({ work }) => work)).size}`);
console.log(`looks               ${looks.length}, each one invocation`);
for (const [service, calls] of reads) {
  const count = calls.reduce((sum, [, each]) => sum + each, 0);
  console.log(`${`reads of ${service}`.padEnd(20)}${count}`);
}
console.log(`looks' actions      ${changes.length}: ${changes.join(", ")}`);
console.log(`CloudWatch metrics  ${metricsIn(lines).size} of ${lines.filter(isMetric).length} points`);
console.log(`bytes logged        ${Buffer.byteLength(log)}`);

function isMetric(line: Line): boolean {
  return line["_aws"] !== undefined;
}

/** Whatever else is in the log is no line of ours. */
function parsed(line: string): readonly Line[] {
  try {
    return [JSON.parse(line) as Line];
  } catch {
    return [];
  }
}

/** Each name with each set of dimensions and their values is a metric of its own. */
function metricsIn(all: readonly Line[]): ReadonlySet<string> {
  return new Set(
    all.flatMap((line) =>
      (line["_aws"]?.CloudWatchMetrics ?? []).flatMap(({ Dimensions, Metrics }) =>
        Metrics.flatMap(({ Name }) =>
          Dimensions.map((set) => JSON.stringify([Name, set.map((key) => [key, Reflect.get(line, key)])])),
        ),
      ),
    ),
  );
}
