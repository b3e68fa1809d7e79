import { Interrupted, Refused, Unreachable } from '../../contract/client/api-error.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import type { AddedAnswer } from '../../contract/item-answers.ts';
import type { CreatedAnswer, JobAnswer, JobStatusAnswer } from '../../contract/job-answers.ts';
import type { NewJobRequest } from '../../contract/new-job.ts';
import { type ColumnQuery, ignoredColumnsText } from '../client/columns.ts';
import type { Client } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import { formatCount, formatItems, printable } from '../format.ts';
import type { ItemList } from './item-list.ts';
import { uploadItems } from './items-upload.ts';

/**
 * How a command fills a job: it is created held, receives its items, and is started once all of them have arrived. A
 * command that dies on the way can be repeated: the job has not started, and no item is added twice.
 */
export interface Filling {
  readonly jobId: string;
  readonly list: ItemList;
  readonly limit?: number;
  /** How its columns are read, if it is a CSV. */
  readonly columns?: ColumnQuery;
  /** False for a job that should stay held, or was started before. */
  readonly isToBeStarted: boolean;
  /** The command that sends the list again. */
  readonly again: string;
  /** What to do with the list once it is corrected. */
  readonly corrected: string;
  /** The command that starts the job with the items it has, if there is one. */
  readonly startAsIs: string | null;
}

/** A policy file is sent unchanged: the server checks it. */
export type NewJobBody = Omit<NewJobRequest, 'execution_policy'> & {
  readonly job_id: string;
  readonly execution_policy?: object;
};

export async function createHeld({ api, note }: Client, body: NewJobBody): Promise<void> {
  const { warnings } = await api.post<CreatedAnswer>('/jobs', { ...body, hold: true }, { isRepeatable: true });
  for (const { message } of warnings) note(`Warning: ${printable(message)}`);
}

export async function sendItems(client: Client, filling: Filling): Promise<AddedAnswer> {
  const { jobId, list, limit, columns, again } = filling;
  try {
    return await uploadItems(client, jobId, list, { ...columns, ...(limit === undefined ? {} : { limit }) });
  } catch (error) {
    if (!(error instanceof Unreachable || error instanceof Interrupted || error instanceof Refused)) throw error;
    const isBroken = !(error instanceof Refused) || error.status >= 500;
    const what = isBroken ? 'The list was not sent completely' : 'The list was not accepted';
    const input = list.name === 'stdin' ? ' with the same input' : '';
    throw CommandFailed.of(
      error,
      `${what}. The job is held with what has arrived. To continue, run the command again${input}:\n  ${again}`,
    );
  }
}

/** Why the job must not be started with what the server accepted of the list; null if it may. */
export async function refusalOf(
  { api }: Client,
  { jobId, isToBeStarted, again, corrected, startAsIs }: Filling,
  { bad, incomplete }: AddedAnswer,
): Promise<{ readonly job: JobStatusAnswer; readonly why: string } | null> {
  if (bad === 0) return null;
  const job = await api.get<JobStatusAnswer>(`${jobPath(jobId)}/status`);
  const { total } = job.summary;
  const id = printable(jobId);
  if (total === 0) {
    const why = `no line of the list can be used, and job ${id} stays held without items`;
    return { job, why: `${why}: correct the list and ${corrected}` };
  }
  if (!isToBeStarted || !incomplete) return null;
  const orStart = startAsIs === null ? '' : `\nOr start the job with what it has:\n  ${startAsIs}`;
  return {
    job,
    why:
      `the list is truncated or damaged: part of it was not read. Job ${id} stays held with ${formatItems(total)}.\n` +
      `Repair the list and send it again:\n  ${again}${orStart}`,
  };
}

/** Starts the job if wanted, and returns its status. */
export async function startFilled({ api }: Client, filling: Filling): Promise<JobStatusAnswer> {
  const { jobId, list, isToBeStarted, again } = filling;
  const path = jobPath(jobId);
  const status = await api.get<JobStatusAnswer>(`${path}/status`);
  if (!isToBeStarted) return status;
  if (status.summary.total === 0) {
    throw new CommandFailed(`${list.name} has no items, so the job was not started. To send some:\n  ${again}`);
  }
  try {
    return await api.post<JobStatusAnswer>(`${path}/start`, undefined, { isRepeatable: true });
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409) throw error;
    // The answer to an earlier attempt may have been lost.
    const job = await api.get<JobAnswer>(path);
    if (job.held) throw error;
    return job;
  }
}

/** `2,000 items added, 1 corrected, 3 duplicates left unchanged.` */
export function addedText(answer: AddedAnswer): string {
  const { added, duplicates, replaced, conflicts } = answer;
  const corrected = replaced > 0 ? `, ${formatCount(replaced)} corrected` : '';
  const left = duplicates - replaced;
  const there = left > 0 ? `, ${formatItems(left, 'duplicate')} left unchanged` : '';
  const again = 'failed before and will run again with the new input';
  const kept = 'came with a different input; the job keeps the one it has';
  const differing = [
    ...(replaced > 0 ? [`${formatItems(replaced)} ${again}: ${firstIds(answer.replaced_ids, replaced)}`] : []),
    ...(conflicts > 0
      ? [`${formatItems(conflicts, 'duplicate')} ${kept}: ${firstIds(answer.conflicting_ids, conflicts)}`]
      : []),
  ];
  const ignored = ignoredColumnsText(answer.ignored_columns.map((name) => printable(name)));
  return [`${formatItems(added)} added${corrected}${there}.`, ...ignored, ...differing, ...badLines(answer)].join('\n');
}

const SHOWN = 10;

function firstIds(ids: readonly string[], count: number): string {
  const shown = ids
    .slice(0, SHOWN)
    .map((id) => printable(id))
    .join(', ');
  return count > SHOWN ? `${shown} …` : shown;
}

function badLines({ bad, bad_lines }: Pick<AddedAnswer, 'bad' | 'bad_lines'>): string[] {
  if (bad === 0) return [];
  const shown = bad_lines.slice(0, SHOWN);
  const rest = bad - shown.length;
  return [
    '',
    `${formatItems(bad, 'line')} could not be read, and ${bad === 1 ? 'is' : 'are'} not part of the job:`,
    ...shown.map(({ line, problem }) => `  line ${formatCount(line)}: ${printable(problem, 160)}`),
    ...(rest > 0 ? [`  and ${formatCount(rest)} more`] : []),
  ];
}
