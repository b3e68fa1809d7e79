import type { JobAnswer } from '../../contract/answers.ts';
import { Interrupted, Refused } from '../client/api-error.ts';
import { jobPath } from '../client/api-paths.ts';
import type { Client } from '../client/command.ts';
import { type JobEvent, jobEvents } from '../client/job-events.ts';
import { printable } from '../format.ts';
import type { Progress } from '../progress.ts';
import { ProgressDisplay } from '../progress-display.ts';
import { command, countsOf } from './job-text.ts';

/**
 * Shows a job until it is over, by what the API tells of it, and answers how it stands then. Over is also a job that its
 * breaker has paused for good: only its user can make it go on.
 */
export async function watchJob({ api, screen, note }: Client, jobId: string): Promise<JobAnswer> {
  const first = await api.get<JobAnswer>(jobPath(jobId));
  if (isOver(first)) return first;
  let shown = progressOf(first);
  let stand = standOf(first);
  if (stand !== 'running') note(waitingText(stand, first));
  const failures = new Map<string, number>();
  const look = async () => ({ ...shown, failures });
  const last = async () => {
    const job = await api.get<JobAnswer>(jobPath(jobId));
    shown = progressOf(job);
    return job;
  };
  const display = new ProgressDisplay({ screen, clock: api.clock, look });
  try {
    for await (const event of jobEvents(api, jobId)) {
      if (event.kind === 'lost') display.note(`${event.message}. Trying again; the job ${STANDS[stand]} meanwhile.`);
      if (event.kind === 'found') display.note('Connected again.');
      if (event.kind === 'gone')
        throw new Refused({ status: 404, code: 'gone', detail: `the job ${jobId} was deleted` });
      if (event.kind === 'reset') failures.clear();
      if (event.kind === 'items') countFailures(failures, event);
      if (event.kind === 'progress' || event.kind === 'status') {
        shown = progressOf(event, shown);
        stand = standOf({ ...event, held: stand === 'held' });
      }
      display.poke();
      if (!mayBeOver(event)) continue;
      const job = await last();
      if (isOver(job)) return job;
    }
    return await last();
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(
      `watching is interrupted, and the job ${STANDS[stand]}. To watch it again:\n  ${command(['jobs', 'watch', jobId])}`,
    );
  } finally {
    await display.stop();
  }
}

const STANDS = { held: 'stays held', paused: 'stays paused', running: 'goes on' } as const;

/** Events do not tell what is held; whatever is no longer pending was started. */
function standOf({ status, held }: Pick<JobAnswer, 'status' | 'held'>): keyof typeof STANDS {
  if (status === 'paused') return 'paused';
  return status === 'pending' && held ? 'held' : 'running';
}

/** Nothing may happen for days: whoever watches is told why, and what would change it. */
function waitingText(stand: 'held' | 'paused', { job_id: jobId, reason }: JobAnswer): string {
  const id = printable(jobId);
  if (stand === 'held') {
    return `Job ${id} is held, and this waits until it is started:\n  ${command(['jobs', 'start', jobId])}`;
  }
  const why = reason ? ` (${printable(reason.message)})` : '';
  return `Job ${id} is paused${why}, and this waits until it goes on:\n  ${command(['jobs', 'resume', jobId])}`;
}

/** A pause of its user may end any moment, one for storage ends by itself, and a breaker that will probe goes on. */
function isOver({ status, reason, breaker }: JobAnswer): boolean {
  if (status === 'paused') return reason?.code === 'breaker' && breaker.probe_at === null;
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** The API ends what is over when its results are there; a pause is no end to it. */
function mayBeOver(event: JobEvent): boolean {
  return event.kind === 'status' && event.status === 'paused' && event.reason?.code === 'breaker';
}

type Stand = Pick<JobAnswer, 'status' | 'summary'> & Partial<Pick<JobAnswer, 'reason' | 'held' | 'items_per_second'>>;

function progressOf(stand: Stand, before: Progress | null = null): Progress {
  const { status, summary, reason, items_per_second: rate } = stand;
  const isPaused = status === 'paused';
  // Only changes of the status tell the reason.
  const known = reason === undefined && isPaused ? (before?.note ?? null) : null;
  const paused = reason ? `paused: ${printable(reason.message, 80)}` : 'paused';
  const held = stand.held === true ? 'held until it is started' : null;
  return {
    counts: countsOf(summary),
    failures: before?.failures ?? new Map(),
    perSecond: rate === undefined ? (before?.perSecond ?? null) : rate,
    note: isPaused ? (known ?? paused) : held,
  };
}

function countFailures(failures: Map<string, number>, { outcomes }: Extract<JobEvent, { kind: 'items' }>): void {
  for (const { error_type: type } of outcomes) {
    if (type !== null) failures.set(printable(type, 40), (failures.get(printable(type, 40)) ?? 0) + 1);
  }
}
