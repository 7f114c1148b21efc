/** What is printed of a scenario that was run in both worlds. */
import { isoOf } from "../drain/time.ts";
import type { Scenario } from "../sim/scenario.ts";
import { factsOf } from "./facts.ts";
import type { Run, RunOptions } from "./run.ts";
import type { Paint } from "./side-by-side.ts";
import { WIDTH, sideBySide } from "./side-by-side.ts";
import { summaryOf } from "./summary.ts";
import { namesOf } from "./timeline-names.ts";
import { timelineOf } from "./timeline.ts";
import { wrapped } from "./wrap.ts";

export interface Told {
  readonly scenario: Scenario;
  readonly of: RunOptions;
  readonly drained: Run;
  /** The same world with a drainer that looks at pods only. */
  readonly unaided: Run;
}

/** For people: who and what, both timelines, and what it came to. */
export function textReport(told: Told, paint: Paint): readonly string[] {
  const { drained, unaided } = told;
  return [
    ...header(told, paint),
    "",
    ...sideBySide(
      { title: "with ebs-drain", lines: timelineOf(drained) },
      { title: "with a drainer that looks at pods only", lines: timelineOf(unaided) },
      paint,
    ),
    "",
    ...summaryOf(factsOf(drained), factsOf(unaided), namesOf(drained).podOf, paint),
  ];
}

const CONTRAST =
  "On the right the same world, from the same seed, with a drainer that looks at pods only: it cordons, evicts, and completes the lifecycle action as soon as the pods are gone.";

function header({ scenario, of, drained: { scene, zero } }: Told, paint: Paint): readonly string[] {
  const faint = (text: string): readonly string[] => wrapped(text, WIDTH).map((line) => paint(line, "faint"));
  const node = scene.node === undefined ? "" : `, Node ${scene.node}`;
  return [
    paint(`${scenario.name}: ${scenario.title}`, "key"),
    ...wrapped(scenario.story, WIDTH),
    ...wrapped(CONTRAST, WIDTH),
    ...faint(`${scene.instance} of ${of.subject.group}${node}; + 0 is ${isoOf(zero)}; seed ${of.seed}`),
    ...(of.recorded === undefined
      ? []
      : faint("The recorded event is the one that reaches dispatch; the world is built around it.")),
  ];
}

/** For programs: the same in one JSON value. */
export function jsonReport({ scenario, of, drained, unaided }: Told): string {
  const side = (run: Run): unknown => ({ timeline: timelineOf(run), facts: factsOf(run) });
  const report = {
    scenario: scenario.name,
    seed: of.seed,
    subject: { ...of.subject, instance: drained.scene.instance },
    zero: isoOf(drained.zero),
    withDrain: side(drained),
    podsOnly: side(unaided),
    violations: drained.violations,
  };
  return JSON.stringify(report, undefined, 2);
}
