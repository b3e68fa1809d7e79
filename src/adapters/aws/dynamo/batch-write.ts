import { BatchWriteItemCommand, type DynamoDBClient, type WriteRequest } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../../ports/clock.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import { atOnce } from '../at-once.ts';
import { translated } from './errors.ts';
import { rowBytes } from './row-size.ts';

/**
 * Puts and deletes rows, without conditions, in no order, and not atomically: after a failure some are there and some
 * are not. So it is only for rows to which nothing refers yet, or any more. No two requests may be about the same key.
 */
export async function writeAll(
  dynamo: DynamoDBClient,
  tableName: string,
  requests: readonly WriteRequest[],
  clock: Clock,
): Promise<void> {
  const writeOnce = async (batch: readonly WriteRequest[]): Promise<readonly WriteRequest[]> => {
    try {
      const answer = await dynamo.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: [...batch] } }));
      return answer.UnprocessedItems?.[tableName] ?? [];
    } catch (error) {
      throw translated('BatchWriteItem', tableName, error);
    }
  };
  await atOnce(BATCHES_AT_ONCE, batchesOf(requests), (batch) => writeUntilDone(tableName, batch, clock, writeOnce));
}

/**
 * DynamoDB considers a batch successful if it wrote any of it, and returns the rest, most often because a partition was
 * over its limit. The pause before the rest is sent again grows while nothing succeeds, and is randomised, so that many
 * callers that were turned away together do not come back together.
 */
async function writeUntilDone(
  tableName: string,
  batch: readonly WriteRequest[],
  clock: Clock,
  writeOnce: (batch: readonly WriteRequest[]) => Promise<readonly WriteRequest[]>,
): Promise<void> {
  let left = await writeOnce(batch);
  let pauseMs = FIRST_PAUSE_MS;
  let progressAt = clock.elapsed();
  while (left.length > 0) {
    if (clock.elapsed() - progressAt >= GIVE_UP_AFTER_MS) {
      const what = `BatchWriteItem on the table ${tableName} took none of ${left.length} rows`;
      throw new StorageTrouble('io', `${what} for ${GIVE_UP_AFTER_MS / 1000} seconds`);
    }
    await clock.sleep(pauseMs * (0.5 + clock.chance() / 2));
    const before = left.length;
    left = await writeOnce(left);
    if (left.length < before) {
      pauseMs = FIRST_PAUSE_MS;
      progressAt = clock.elapsed();
    } else {
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }
}

const BATCHES_AT_ONCE = 8;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5000;
/** An on-demand table scales up within seconds. */
const GIVE_UP_AFTER_MS = 30_000;
/** DynamoDB's limit. */
const MAX_REQUESTS = 25;
/** Its limit is 16 MB on the wire, where bytes are base64 and texts may contain escapes. */
const MAX_BYTES = 6 * 2 ** 20;

function batchesOf(requests: readonly WriteRequest[]): readonly (readonly WriteRequest[])[] {
  const batches: WriteRequest[][] = [];
  let batch: WriteRequest[] = [];
  let bytes = 0;
  for (const request of requests) {
    const size = rowBytes(request.PutRequest?.Item ?? request.DeleteRequest?.Key ?? {});
    if (batch.length === MAX_REQUESTS || (batch.length > 0 && bytes + size > MAX_BYTES)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(request);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
