import type { JobRecord } from '../../domain/job.ts';
import type { ResultStore } from '../../ports/result-store.ts';

/**
 * The URLs of a list that its job does not fetch: links to files, and URLs that belong to no site. They were stored when the
 * job was created, one JSON object per line. Empty for jobs that were not created from a list.
 */
export async function* unfetchedLinks(
  store: Pick<ResultStore, 'open'>,
  { jobId, bulk }: Pick<JobRecord, 'jobId' | 'bulk'>,
): AsyncGenerator<Uint8Array> {
  const key = bulk?.links ?? null;
  if (key === null) return;
  const bytes = await store.open(key, null);
  if (bytes === null) throw new Error(`the links of job ${jobId} are missing: ${key}`);
  yield* bytes;
}

/** The same, a line at a time. */
export async function* unfetchedLinkLines(
  store: Pick<ResultStore, 'open'>,
  job: Pick<JobRecord, 'jobId' | 'bulk'>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of unfetchedLinks(store, job)) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
