import { jobPath } from '../contract/client/api-paths.ts';
import type { ChangesAnswer } from '../contract/extraction-answers.ts';
import type { JobAnswer } from '../contract/job-answers.ts';
import type { Client } from './client/command.ts';
import { CommandFailed } from './client/command-failure.ts';
import { untilCompared } from './comparing.ts';
import { EXIT } from './exit-codes.ts';
import { beginExtraction, isDifferent, replaceData } from './extracting.ts';
import { printable } from './format.ts';
import { watchJob } from './jobs/watch-job.ts';

/** Parses the stored pages of a job again and replaces its data, as `trawl extract --replace` does. */
export async function extractAgain(
  client: Client,
  jobId: string,
  { id: newId, labels }: { readonly id: string; readonly labels: Readonly<Record<string, string>> },
  goOn: string,
): Promise<ChangesAnswer> {
  await beginExtraction(client, { jobId, newId, labels });
  const begun = await client.api.get<JobAnswer>(jobPath(newId));
  // An unfinished one may have been paused by a run of another list.
  if (begun.status === 'paused') await client.api.post(`${jobPath(newId)}/resume`);
  const { status, reason } = await watchJob(client, newId);
  if (status !== 'completed') {
    const why = reason === null ? '' : `: ${printable(reason.message)}`;
    throw new CommandFailed(`the stored pages were not all parsed, and nothing was replaced${why}`, EXIT.failed);
  }
  const changes = await untilCompared<ChangesAnswer>(client, { path: `${jobPath(newId)}/changes` }, goOn);
  if (isDifferent(changes)) await replaceData(client, changes);
  else client.note('Nothing differs, so there is nothing to replace.');
  return changes;
}
