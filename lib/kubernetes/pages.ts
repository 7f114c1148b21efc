/** Lists in pages. */
import { hasCode } from "./calls.ts";

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Token of the next page; absent or empty at the end. */
  readonly next: string | undefined;
}

/**
 * Every page's items. A list that expires while it is read (410: the API server keeps its state for about five minutes) starts
 * again, once.
 */
export async function listPages<Item>(
  page: (next: string | undefined) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  try {
    return await listOnce(page);
  } catch (error) {
    if (!hasCode(error, 410)) throw error;
    return listOnce(page);
  }
}

async function listOnce<Item>(
  page: (next: string | undefined) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  let next: string | undefined;
  do {
    const answer = await page(next);
    items.push(...answer.items);
    next = answer.next === "" ? undefined : answer.next;
  } while (next !== undefined);
  return items;
}
