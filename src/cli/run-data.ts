import { Refused } from '../contract/client/api-error.ts';
import { itemPath, jobPath } from '../contract/client/api-paths.ts';
import type { ItemPageAnswer } from '../contract/item-answers.ts';
import type { Client } from './client/command.ts';

/** The data of the first item of a job; null if it has none. */
export async function readFirstData({ api }: Client, jobId: string): Promise<unknown> {
  const { items } = await api.get<ItemPageAnswer>(`${jobPath(jobId)}/items`, { limit: 1 });
  const [item] = items;
  if (item?.status !== 'success') return null;
  try {
    return await api.get<unknown>(`${itemPath(jobId, item.item_id)}/download`, { artifact: 'data' });
  } catch (error) {
    if (error instanceof Refused && error.code === 'artifact_not_found') return null;
    throw error;
  }
}
