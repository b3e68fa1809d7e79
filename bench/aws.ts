import { type CostRun, runCounted } from '../test/support/aws/cost-run.ts';

/**
 * A whole job on the AWS adapters and the emulators, all in this process, with every request counted on the wire. The
 * seconds tell of the emulators as much as of Trawl; what counts is requests and units per item.
 */
export async function benchAws(run: CostRun, say: (line: string) => void) {
  const { job, seconds, whole, statusRead } = await runCounted(run);
  say(`${job.counts.success} of ${run.items} items in ${seconds.toFixed(1)} s`);
  for (const [operation, { requests, units }] of Object.entries(whole.byOperation)) {
    say(`  ${operation}: ${requests} requests, ${units} units`);
  }
  const perItem = (count: number) => Number((count / run.items).toFixed(4));
  return {
    items: run.items,
    keeps: run.keeps,
    seconds: Number(seconds.toFixed(1)),
    itemsPerSecond: Math.round(run.items / seconds),
    dynamoWriteUnitsPerItem: perItem(whole.units.write),
    dynamoReadUnitsPerItem: perItem(whole.units.read),
    sqsRequestsPerItem: perItem(whole.requests.sqs),
    s3PutsPerItem: perItem(whole.requests.s3Puts),
    s3GetsPerItem: perItem(whole.requests.s3Gets),
    requestsOfAStatusRead: statusRead.requests.dynamo,
  };
}
