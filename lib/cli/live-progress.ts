/** A drain's progress on a terminal: the stages, and below the one at work its pods and volumes, redrawn in place. */
import { Listr, PRESET_TIMER } from "listr2";
import { type DrainView, type Progress, STAGES, type Stage, type Subject } from "./drain-progress.ts";

/** Lines of one stage; the terminal may be small. */
const MOST_LINES = 12;

/** What is written of a listr2 task. */
interface Shown {
  title: string;
  output: string;
}

interface StageRun {
  readonly ended: Promise<void>;
  readonly end: () => void;
  readonly fail: (problem: string) => void;
  task?: Shown;
}

export function liveProgress(node: string): Progress {
  const runs = new Map<Stage, StageRun>(STAGES.map((stage) => [stage, stageRun()]));
  let latest: DrainView | undefined;
  const list = new Listr(
    STAGES.map((stage) => ({
      title: stage,
      task: async (_context: unknown, task: Shown) => {
        const run = runs.get(stage);
        if (run === undefined) return;
        run.task = task;
        // A stage begins a moment after the look that ended the one before.
        if (latest?.stage === stage) draw(task, latest, node);
        await run.ended;
      },
      rendererOptions: { outputBar: MOST_LINES, timer: PRESET_TIMER },
    })),
    {
      renderer: "default",
      // Ctrl-C is the command's own matter.
      registerSignalListeners: false,
      rendererOptions: { collapseErrors: false },
    },
  );
  const shown = list.run().then(
    () => undefined,
    // The problem is told by whoever ended it so.
    () => undefined,
  );
  return {
    show: (view) => {
      latest = view;
      for (const stage of STAGES.slice(0, STAGES.indexOf(view.stage)))
        finish(runs.get(stage), stage, view, node);
      draw(runs.get(view.stage)?.task, view, node);
    },
    end: async (problem) => {
      const at = STAGES.indexOf(latest?.stage ?? STAGES[0]);
      for (const [index, stage] of STAGES.entries()) {
        if (problem !== undefined && index >= at) runs.get(stage)?.fail(problem);
        else finish(runs.get(stage), stage, latest, node);
      }
      await shown;
    },
  };
}

function stageRun(): StageRun {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // A stage that never began fails unseen.
  promise.catch(() => undefined);
  return { ended: promise, end: resolve, fail: (problem) => reject(new Error(problem)) };
}

function draw(task: Shown | undefined, view: DrainView, node: string): void {
  if (task === undefined) return;
  const subjects = linesOf(view);
  task.title = titleOf(view, node);
  task.output = [...subjects, ...view.trouble].slice(0, MOST_LINES).join("\n");
}

function finish(run: StageRun | undefined, stage: Stage, view: DrainView | undefined, node: string): void {
  if (run?.task !== undefined && view !== undefined) run.task.title = doneTitle(stage, view, node);
  run?.end();
}

function doneTitle(stage: Stage, { pods, volumes }: DrainView, node: string): string {
  switch (stage) {
    case "cordon":
      return `cordoned ${node}`;
    case "evict pods":
      return `${pods.length} pods gone`;
    case "detach volumes":
      return `${volumes.length} volumes free`;
    case "confirm":
      return "nothing is left";
    default:
      return stage satisfies never;
  }
}

function titleOf({ stage, pods, volumes }: DrainView, node: string): string {
  switch (stage) {
    case "cordon":
      return `cordon ${node}`;
    case "evict pods":
      return `evict pods: ${leftOf(pods)}`;
    case "detach volumes":
      return `detach volumes: ${leftOf(volumes)}`;
    case "confirm":
      return "confirm that nothing is left";
    default:
      return stage satisfies never;
  }
}

function leftOf(subjects: readonly Subject[]): string {
  return `${subjects.filter(({ isLeft }) => isLeft).length} of ${subjects.length} left`;
}

function linesOf({ pods, volumes }: DrainView): readonly string[] {
  return [...pods, ...volumes].filter(({ isLeft }) => isLeft).map(({ name, state }) => `${name} ${state}`);
}
