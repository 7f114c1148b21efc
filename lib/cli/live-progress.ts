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
  let atWork: Stage = STAGES[0];
  const list = new Listr(
    STAGES.map((stage) => ({
      title: stage,
      task: async (_context: unknown, task: Shown) => {
        const run = runs.get(stage);
        if (run === undefined) return;
        run.task = task;
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
      atWork = view.stage;
      for (const stage of STAGES.slice(0, STAGES.indexOf(atWork))) runs.get(stage)?.end();
      draw(runs.get(atWork)?.task, view, node);
    },
    end: async (problem) => {
      const at = STAGES.indexOf(atWork);
      for (const [index, stage] of STAGES.entries()) {
        if (problem !== undefined && index >= at) runs.get(stage)?.fail(problem);
        else runs.get(stage)?.end();
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
