import type { Engine } from '../../src/main/engine.ts';

/** Measures from the submission of the job to its completion in the ledger. */
export async function runJob(
  { submit, ledger, events }: Engine,
  apns: readonly string[],
  { scraperId, policy }: { readonly scraperId: string; readonly policy: object },
): Promise<void> {
  const jobId = `bench-${apns.length}-${apns[0]}`;
  const completed = Promise.withResolvers<void>();
  const unsubscribe = events.subscribe((event) => {
    if (event.kind === 'job' && event.job.jobId === jobId && event.because === 'complete') completed.resolve();
    if (event.kind === 'engine-error') console.error('engine error', event.where, event.error);
  });
  const answer = await submit({
    job_id: jobId,
    scraper_id: scraperId,
    items: apns.map((apn) => ({ item_id: apn, input: { apn } })),
    execution_policy: policy,
  });
  if (answer.kind !== 'created') throw new Error(`the job was not made: ${JSON.stringify(answer)}`);
  await completed.promise;
  unsubscribe();
  const { counts } = (await ledger.job(jobId)) ?? {};
  if (counts?.success !== apns.length) throw new Error(`not every page was scraped: ${JSON.stringify(counts)}`);
}
