/** One row of the rules' table: a rule's number, what it comes to in a sentence, and an assertion that fails where it does not hold. */
export interface RuleRow {
  readonly rule: string;
  readonly shows: string;
  readonly holds: () => void | Promise<void>;
}
