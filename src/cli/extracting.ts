import { Refused } from '../contract/client/api-error.ts';
import { jobPath } from '../contract/client/api-paths.ts';
import type { ChangesAnswer, ExtractedAnswer } from '../contract/extraction-answers.ts';
import type { JobAnswer, JobStatusAnswer } from '../contract/job-answers.ts';
import type { Client } from './client/command.ts';
import { CommandFailed } from './client/command-failure.ts';
import { fieldsText, POLL } from './comparing.ts';
import { EXIT } from './exit-codes.ts';
import { formatCount, formatItems, printable } from './format.ts';
import { itemsText } from './jobs/job-text.ts';

/** The steps of a re-extraction that `trawl extract` and `trawl run --extract` share. */

/** The server collects the items before it answers. */
const BEGIN_MS = 10 * 60_000;

export interface Extraction {
  readonly jobId: string;
  /** Id of the job that reads the stored pages. */
  readonly newId: string;
  /** Undefined means the scraper of the job. */
  readonly scraper?: string | undefined;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Begins a re-extraction, or finds the one already begun under this id. */
export async function beginExtraction({ api, note }: Client, extraction: Extraction): Promise<void> {
  const { jobId, newId, scraper, labels = {} } = extraction;
  try {
    const begun = await api.json<ExtractedAnswer>({
      method: 'POST',
      path: `${jobPath(jobId)}/extract`,
      body: { job_id: newId, labels, ...(scraper === undefined ? {} : { scraper_id: scraper }) },
      // Safe to repeat: the same id is the same job.
      isRepeatable: true,
      silenceMs: BEGIN_MS,
    });
    const { seeded_count: pages, without_page: without } = begun;
    const kept =
      without > 0
        ? `; ${formatItems(without)} without a stored page ${without === 1 ? 'stays' : 'stay'} unchanged`
        : '';
    note(`Job ${printable(newId)} parses ${formatItems(pages, 'page')} of ${printable(jobId)}${kept}.`);
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'job_exists') throw error;
    // The scraper may have changed since the job was created; its data are still there.
    const job = await api.get<JobAnswer>(jobPath(newId));
    if (job.input.extracts !== jobId || job.held) throw error;
    note(`Continuing job ${printable(newId)}, created with scraper version ${printable(job.scraper_version)}.`);
  }
}

export function changesText({ compared, changed, failed, recovered, fields }: ChangesAnswer): string {
  const lost =
    failed > 0
      ? ` ${formatItems(failed)} could not be parsed and ${failed === 1 ? 'keeps its' : 'keep their'} data.`
      : '';
  const won =
    recovered > 0
      ? ` ${formatItems(recovered, 'failed item')} would become ${recovered === 1 ? 'a success' : 'successes'}.`
      : '';
  const head = `${formatCount(changed)} of ${formatItems(compared)} would change.${won}${lost}\n`;
  return `${head}${fieldsText(fields)}`;
}

/** Whether replacing would change anything. */
export function isDifferent({ changed, recovered }: ChangesAnswer): boolean {
  return changed + recovered > 0;
}

/** Replaces the data of the older job, and reports it when done. */
export async function replaceData(client: Client, { job_id: newId, extracts }: ChangesAnswer): Promise<void> {
  // Replacing twice has the same effect as replacing once.
  await client.api.post<JobStatusAnswer>(`${jobPath(newId)}/replace`, undefined, { isRepeatable: true });
  const job = await untilReplaced(client, extracts);
  client.note(`The data of ${printable(extracts)} were replaced: ${itemsText(job)}.`);
}

/**
 * Waits until the recovered items of the older job are successes and its index refers to the new data: before that, a
 * copy of the results would contain a mixture.
 */
async function untilReplaced({ api, note }: Client, jobId: string): Promise<JobAnswer> {
  let delayMs: number = POLL.firstMs;
  let isAnnounced = false;
  for (;;) {
    const job = await api.get<JobAnswer>(jobPath(jobId));
    const isIndexed = job.results.ready || (job.status !== 'completed' && job.status !== 'cancelled');
    // An older server does not have the field and recovers nothing.
    if (!job.recovering && isIndexed) return job;
    if (job.recovering && !isAnnounced) note('Turning failed items that can now be parsed into successes …');
    isAnnounced = true;
    await api.clock.sleep(delayMs, api.signal);
    if (api.signal.aborted) throw new CommandFailed('interrupted; the server continues', EXIT.interrupted);
    delayMs = Math.min(delayMs * 2, POLL.longestMs);
  }
}
