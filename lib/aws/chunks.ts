/** Cuts a list to the lengths that an API takes in one request. */
export function chunksOf<T>(items: readonly T[], most: number): readonly (readonly T[])[] {
  const chunks: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += most) chunks.push(items.slice(start, start + most));
  return chunks;
}
