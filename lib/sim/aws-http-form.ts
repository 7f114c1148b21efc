/** Reads the Query protocol's form parameters, and cuts answers into pages. */
import { Ec2Fault } from "./seams.ts";

export type Form = URLSearchParams;

export interface Filter {
  readonly name: string;
  readonly values: readonly string[];
}

/** `name.1`, `name.2`, … */
export function listIn(form: Form, name: string): readonly string[] {
  const values: string[] = [];
  for (let index = 1; ; index++) {
    const value = form.get(`${name}.${index}`);
    if (value === null) return values;
    values.push(value);
  }
}

/** `Filter.1.Name`, `Filter.1.Value.1`, … */
export function filtersIn(form: Form): readonly Filter[] {
  const filters: Filter[] = [];
  for (let index = 1; ; index++) {
    const name = form.get(`Filter.${index}.Name`);
    if (name === null) return filters;
    filters.push({ name, values: listIn(form, `Filter.${index}.Value`) });
  }
}

/** Throws Ec2Fault where the parameter is missing. */
export function requiredIn(form: Form, name: string): string {
  const value = form.get(name);
  if (value === null || value === "") {
    throw new Ec2Fault("MissingParameter", `The request must contain the parameter ${name}`);
  }
  return value;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextToken?: string;
}

/** One page of at most `most` items; throws Ec2Fault for a token that is none of ours. */
export function pageOf<T>(items: readonly T[], most: number, token: string | null): Page<T> {
  const start = token === null ? 0 : startOf(token);
  const end = start + most;
  return {
    items: items.slice(start, end),
    ...(end < items.length ? { nextToken: Buffer.from(`from ${end}`).toString("base64url") } : {}),
  };
}

function startOf(token: string): number {
  const match = /^from (\d+)$/.exec(Buffer.from(token, "base64url").toString());
  if (match === null) throw new Ec2Fault("InvalidParameterValue", "The pagination token is not valid");
  return Number(match[1]);
}
