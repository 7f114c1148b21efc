/** Counters of this process as Prometheus text (exposition format 0.0.4). */
import type { HoldEnd } from "./hold-end.ts";

interface Family {
  readonly type: "counter" | "gauge";
  readonly help: string;
  /** By labels, such as `rule="H5"`; empty for none. */
  readonly values: Map<string, number>;
}

export class HookMetrics {
  readonly #families = new Map<string, Family>();

  constructor() {
    this.#family("holds_total", "counter", "Waits that a preStop hook began.", "");
    this.#family("holding", "gauge", "1 while a preStop hook waits for its answer.", "");
    this.#family("outcomes_total", "counter", "Answers by the rule that gave them.");
    this.#family("wait_seconds_total", "counter", "Seconds from the first hook to the answer.", "");
    this.#family(
      "attachments_seen_total",
      "counter",
      "Attachments of managed drivers that were waited for.",
      "",
    );
    this.#family("attachments_left_total", "counter", "Attachments that were still there at the answer.", "");
    this.#family("completions_total", "counter", "Lifecycle actions by what became of the attempt.");
    this.#family("api_errors_total", "counter", "Failed requests to the API server by kind.");
  }

  began(): void {
    this.#add("holds_total", "", 1);
    this.#set("holding", 1);
  }

  ended(end: HoldEnd, seconds: number, attachmentsSeen: number): void {
    this.#set("holding", 0);
    this.#add("outcomes_total", `rule="${end.rule}"`, 1);
    this.#add("wait_seconds_total", "", seconds);
    this.#add("attachments_seen_total", "", attachmentsSeen);
    this.#add("attachments_left_total", "", end.left.length);
    if (end.completion !== undefined) this.#add("completions_total", `result="${end.completion.kind}"`, 1);
  }

  apiError(kind: string): void {
    this.#add("api_errors_total", `kind="${kind}"`, 1);
  }

  text(): string {
    return [...this.#families]
      .flatMap(([name, { type, help, values }]) => [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...[...values].map(([labels, value]) => `${name}${labels === "" ? "" : `{${labels}}`} ${value}`),
      ])
      .join("\n")
      .concat("\n");
  }

  /** @param labels of a value that is told from the start, as 0 */
  #family(name: string, type: Family["type"], help: string, labels?: string): void {
    const values = new Map(labels === undefined ? [] : [[labels, 0]]);
    this.#families.set(full(name), { type, help, values });
  }

  #add(name: string, labels: string, value: number): void {
    const values = this.#families.get(full(name))?.values;
    values?.set(labels, (values.get(labels) ?? 0) + value);
  }

  #set(name: string, value: number): void {
    this.#families.get(full(name))?.values.set("", value);
  }
}

function full(name: string): string {
  return `ebs_drain_hook_${name}`;
}
