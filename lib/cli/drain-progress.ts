/** How far a drain by hand is, from look to look: stages, pods and volumes, and what of them has just changed. */
import { podName } from "../drain/pods.ts";
import { understand } from "../drain/situation.ts";
import type { Situation } from "../drain/situation.ts";
import type { Policy } from "../drain/policy.ts";
import type { Instant } from "../drain/time.ts";
import type { LookRecord } from "../engine/ports.ts";

export const STAGES = ["cordon", "evict pods", "detach volumes", "confirm"] as const;
export type Stage = (typeof STAGES)[number];

/** A pod or a volume of the Node, and where it stands. */
export interface Subject {
  readonly name: string;
  readonly state: string;
  readonly isLeft: boolean;
}

export interface DrainView {
  readonly at: Instant;
  /** The stage at work; those before it are done. */
  readonly stage: Stage;
  readonly pods: readonly Subject[];
  readonly volumes: readonly Subject[];
  /** What is worth a word: the Node cannot be read, an act failed. */
  readonly trouble: readonly string[];
}

/** Who shows it. */
export interface Progress {
  /** `changes` tells in plain lines what differs from the view before. */
  readonly show: (view: DrainView, changes: readonly string[]) => void;
  /** The drain has ended: `problem` says why it did not do what was asked. Answers when everything is shown. */
  readonly end: (problem?: string) => Promise<void>;
}

export class DrainFollower {
  readonly #policy: Policy;
  readonly #pods = new Map<string, Subject>();
  readonly #volumes = new Map<string, Subject>();
  #stage: Stage | undefined;
  #trouble: readonly string[] = [];

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  follow(record: LookRecord): { readonly view: DrainView; readonly changes: readonly string[] } {
    const situation = understand(record.observation, this.#policy);
    const changes: string[] = [];
    if (situation.blindness === undefined) this.#look(situation, changes);
    const stage = stageOf(record, situation, this.#stage);
    if (stage !== this.#stage) changes.unshift(stage);
    this.#stage = stage;
    const trouble = troubleOf(record, situation);
    changes.push(...trouble.filter((each) => !this.#trouble.includes(each)));
    this.#trouble = trouble;
    const view = {
      at: record.observation.at,
      stage,
      pods: [...this.#pods.values()],
      volumes: [...this.#volumes.values()],
      trouble,
    };
    return { view, changes };
  }

  #look(situation: Situation, changes: string[]): void {
    const pods = situation.pods.evictable.map((pod) => ({
      key: pod.uid,
      subject: {
        name: `pod ${podName(pod)}`,
        state: podState(pod.deleting, pod.uid, situation),
        isLeft: true,
      },
    }));
    const volumes = situation.verdicts
      .filter(({ verdict }) => verdict !== "foreign" && verdict !== "local")
      .map((volume) => ({
        key: volume.handle ?? volume.attachment ?? "?",
        subject: {
          name: `volume ${volume.handle ?? volume.attachment ?? "?"}`,
          state: `${volume.verdict}: ${volume.why}`,
          isLeft: volume.blocks,
        },
      }));
    changes.push(...update(this.#pods, pods, "gone"), ...update(this.#volumes, volumes, "free"));
  }
}

function podState(isDeleting: boolean, uid: string, { memory }: Situation): string {
  const record = memory.evictions[uid];
  if (isDeleting) return "terminating";
  if (record === undefined) return "to be evicted";
  switch (record.outcome) {
    case "budget":
      return `blocked by PodDisruptionBudget ${record.budget ?? "(unnamed)"}`;
    case "failed":
      return "its eviction failed, asked again";
    case "left":
      return "its namespace is terminating";
    case "accepted":
    case "gone":
      return "evicted";
    default:
      return record.outcome satisfies never;
  }
}

/** What is in the list no more has reached its end. Answers what changed, a line each. */
function update(
  known: Map<string, Subject>,
  seen: readonly { readonly key: string; readonly subject: Subject }[],
  end: string,
): readonly string[] {
  const changes: string[] = [];
  const set = (key: string, subject: Subject): void => {
    if (known.get(key)?.state !== subject.state) changes.push(`${subject.name} ${subject.state}`);
    known.set(key, subject);
  };
  for (const { key, subject } of seen) set(key, subject);
  const keys = new Set(seen.map(({ key }) => key));
  for (const [key, subject] of known) {
    if (!keys.has(key)) set(key, { ...subject, state: end, isLeft: false });
  }
  return changes;
}

function stageOf(record: LookRecord, situation: Situation, before: Stage | undefined): Stage {
  if (situation.blindness !== undefined) return before ?? "cordon";
  if (situation.node?.unschedulable === false) return "cordon";
  switch (record.decision.phase) {
    case "evicting":
      return "evict pods";
    case "detaching":
      return "detach volumes";
    case "confirming":
    case "ending":
      return situation.blocking.length > 0 ? "detach volumes" : "confirm";
    case "locating":
    case "cordoning":
    case "proving-death":
    case "awaiting-ec2":
    case "forcing-off":
    case "blind":
      return before ?? "cordon";
    default:
      return record.decision.phase satisfies never;
  }
}

function troubleOf({ decision, failures }: LookRecord, { blindness }: Situation): readonly string[] {
  return [...(blindness === undefined ? [] : [decision.reason]), ...failures];
}
