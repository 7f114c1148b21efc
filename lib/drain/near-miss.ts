/**
 * The candidate that somebody probably meant: at most two letters typed wrong, left out, doubled or swapped, and no more than a
 * third of the word, upper or lower case aside. Undefined where none is near.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    const allowed = Math.min(2, Math.floor(candidate.length / 3));
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= allowed && distance < (best?.distance ?? Infinity)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, each counted once. */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = row > 1 && from[row - 2] === to[column - 1] && from[row - 1] === to[column - 2];
      current[column] = Math.min(
        cell(current, column - 1) + 1,
        cell(previous, column) + 1,
        cell(previous, column - 1) + (same ? 0 : 1),
        swapped ? cell(before, column - 2) + 1 : Infinity,
      );
    }
    before = previous;
    previous = current;
  }
  return cell(previous, to.length);
}

function cell(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
