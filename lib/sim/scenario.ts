/** A situation: a world, what stands in it, and what happens to one of its machines. */
import { LIFECYCLE_HOOK } from "../drain/names.ts";
import type { Policy } from "../drain/policy.ts";
import type { SpotAction } from "../drain/task.ts";
import type { Instant } from "../drain/time.ts";
import type { GroupSpec } from "./auto-scaling-members.ts";
import { World, type WorldOptions } from "./world.ts";

/** Whom it happens to; of a recorded event all of it, else what the world draws. */
export interface Subject {
  readonly group: string;
  readonly instance?: string;
  readonly token?: string;
  /** What EC2 does after a spot notice. */
  readonly spotAction?: SpotAction;
}

/** The machine that goes, and its Node's name; absent where it never joins. */
export interface Scene {
  readonly instance: string;
  readonly node?: string;
  /** Words for the cluster's Nodes, by name. */
  readonly nodes: Readonly<Record<string, string>>;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** What a reader has to know to follow it: a few sentences. */
  readonly story: string;
  readonly world?: Partial<Omit<WorldOptions, "seed" | "start" | "groups">>;
  /** What this deployment has set otherwise than the defaults. */
  readonly policy?: Partial<Policy>;
  readonly group?: Partial<Omit<GroupSpec, "name" | "hooks">>;
  readonly build: (world: World, subject: Subject) => Promise<Scene>;
  /** Auto Scaling holds the instance in a lifecycle action, from whose opening times are told; else from the beginning. */
  readonly held: boolean;
  /** Sets it off; what comes later is put on the clock. */
  readonly begin: (world: World, scene: Scene, subject: Subject) => void;
  /** Milliseconds that are looked at: at least (default 0) until everything has come to rest, and at most. */
  readonly least?: number;
  readonly most: number;
}

/** The empty world of a scenario: one group with our hook, as the product's stack makes it. */
export function worldOf(
  scenario: Scenario,
  subject: Subject,
  options: { readonly seed: number; readonly start?: Instant },
): World {
  const hook = { name: LIFECYCLE_HOOK, heartbeatTimeout: 300, defaultResult: "CONTINUE" as const };
  const group: GroupSpec = {
    ...scenario.group,
    name: subject.group,
    hooks: [{ ...hook, ...(subject.token === undefined ? {} : { token: subject.token }) }],
  };
  return new World({ ...scenario.world, ...options, groups: [group] });
}
