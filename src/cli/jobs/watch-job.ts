import { Interrupted, Refused } from '../../contract/client/api-error.ts';
import { jobPath } from '../../contract/client/api-paths.ts';
import { jobEvents, type WatchEvent } from '../../contract/client/job-events.ts';
import type { JobEvent } from '../../contract/events.ts';
import type { JobAnswer } from '../../contract/job-answers.ts';
import type { Client } from '../client/command.ts';
import { CommandFailed, errorText } from '../client/command-failure.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import type { Pace, Progress } from '../progress.ts';
import { command, countsOf, waitingForText } from './job-text.ts';

/**
 * Shows the progress of a job until it is over, from the events of the API, and returns the job. A job that its breaker
 * paused for good is over, too: only a user can resume it.
 */
export async function watchJob({ api, show, note, now }: Client, jobId: string): Promise<JobAnswer> {
  const first = await api.get<JobAnswer>(jobPath(jobId));
  if (isOver(first)) return first;
  let shown = progressOf(first);
  let pace: PaceAnswer | null = null;
  let state = stateOf(first);
  if (state !== 'running') note(waitingText(state, first));
  const failures = new Map<string, number>();
  const look = async () => ({ ...shown, failures, pace: paceAt(pace, now()) });
  const last = async () => {
    const job = await api.get<JobAnswer>(jobPath(jobId));
    shown = progressOf(job);
    pace = null;
    return job;
  };
  const display = show(look);
  try {
    for await (const event of jobEvents(api, jobId)) {
      switch (event.event) {
        case 'lost':
          note(`${lostText(event)}. Reconnecting; the job ${CONTINUES[state]} meanwhile.`);
          break;
        case 'reconnected':
          note('Reconnected.');
          break;
        case 'gone':
          throw new Refused({ ...GONE, detail: `job ${jobId} was deleted` });
        case 'reset':
          failures.clear();
          break;
        case 'items':
          countFailures(failures, event.data.outcomes);
          break;
        case 'warnings':
          for (const { message } of event.data.warnings) note(`Warning: ${printable(message, 1000)}`);
          break;
        case 'progress':
        case 'status':
          shown = progressOf(event.data, shown);
          state = stateOf({ ...event.data, held: state === 'held' });
          // Only progress events contain it, and not those of an older server.
          if ('waiting' in event.data) pace = event.data;
      }
      display.poke();
      if (!mayBeOver(event)) continue;
      const job = await last();
      if (isOver(job)) return job;
    }
    return await last();
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new CommandFailed(
      `interrupted; the job ${CONTINUES[state]}. To watch it again:\n  ${command(['jobs', 'watch', jobId])}`,
      EXIT.interrupted,
    );
  } finally {
    await display.stop();
  }
}

const GONE = { type: 'about:blank', title: 'The job was deleted', status: 404, code: 'gone' } as const;

const CONTINUES = { held: 'stays held', paused: 'stays paused', running: 'continues' } as const;

/** Events do not say whether a job is held; one that is no longer pending was started. */
function stateOf({ status, held }: Pick<JobAnswer, 'status' | 'held'>): keyof typeof CONTINUES {
  if (status === 'paused') return 'paused';
  return status === 'pending' && held ? 'held' : 'running';
}

function lostText({ error }: Extract<WatchEvent, { event: 'lost' }>): string {
  return error === null ? 'the server closed the connection' : errorText(error);
}

/** Nothing may happen for days, so the user is shown why and how to change that. */
function waitingText(state: 'held' | 'paused', { job_id: jobId, reason }: JobAnswer): string {
  const id = printable(jobId);
  if (state === 'held') {
    return `Job ${id} is held; waiting for it to be started. To start it:\n  ${command(['jobs', 'start', jobId])}`;
  }
  const why = reason ? ` (${printable(reason.message)})` : '';
  if (reason?.code === 'storage') return `Job ${id} is paused${why}; it continues when the storage can be used again.`;
  return `Job ${id} is paused${why}; waiting for it to be resumed. To resume it:\n  ${command(['jobs', 'resume', jobId])}`;
}

/**
 * A user's pause may end at any moment, a pause for storage ends by itself, and so does one of a breaker that will
 * probe. A used-up budget must be raised first, and a bad control item needs to be investigated.
 */
export function isOver({ status, reason, breaker }: Pick<JobAnswer, 'status' | 'reason' | 'breaker'>): boolean {
  if (status === 'paused') return mayEnd(reason) && (reason?.code !== 'breaker' || breaker.probe_at === null);
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** The API ends the stream of a job that is over; to the API, a paused job is never over. */
function mayBeOver(event: WatchEvent): boolean {
  if (event.event !== 'status' || event.data.status !== 'paused') return false;
  return mayEnd(event.data.reason);
}

/** Only a user who has investigated it ends such a pause, or the breaker if it will probe. */
const WAITS_FOR_USER: readonly string[] = ['breaker', 'host', 'budget', 'control'];

function mayEnd(reason: JobAnswer['reason']): boolean {
  return reason !== null && WAITS_FOR_USER.includes(reason.code);
}

type ProgressAnswer = Extract<JobEvent, { event: 'progress' }>['data'];
type PaceAnswer = Pick<ProgressAnswer, 'waiting' | 'limit' | 'max_limit'> &
  Partial<Pick<ProgressAnswer, 'waiting_for'>>;

/** An item whose time has come is no longer waiting, even if nothing has been heard since. */
function paceAt(pace: PaceAnswer | null, now: number): Pace | null {
  if (pace === null) return null;
  const { waiting, limit, max_limit: maxLimit, waiting_for: waitingFor } = pace;
  const current = waiting.map(({ error_type, items, until }) => {
    return { type: printable(error_type, 40), items, ms: Date.parse(until) - now };
  });
  const isWaiting = waitingFor && Date.parse(waitingFor.until) > now;
  const host = isWaiting ? waitingForText(waitingFor) : null;
  return { waiting: current.filter(({ ms }) => ms > 0), host, limit, maxLimit };
}

type State = Pick<JobAnswer, 'status' | 'summary'> &
  Partial<Pick<JobAnswer, 'reason' | 'held' | 'items_per_second' | 'forecast'>>;

function progressOf(state: State, before: Progress | null = null): Progress {
  const { status, summary, reason, items_per_second: rate } = state;
  const isPaused = status === 'paused';
  // Only status events contain the reason.
  const known = reason === undefined && isPaused ? (before?.note ?? null) : null;
  const paused = reason ? `paused: ${printable(reason.message, 80)}` : 'paused';
  const held = state.held === true ? 'held' : null;
  return {
    counts: countsOf(summary),
    failures: before?.failures ?? new Map(),
    perSecond: rate === undefined ? (before?.perSecond ?? null) : rate,
    eta: rate === undefined ? (before?.eta ?? null) : etaOf(state.forecast),
    note: isPaused ? (known ?? paused) : held,
    pace: null,
  };
}

/** Not in the answers of an older server. */
function etaOf(forecast: JobAnswer['forecast'] | undefined): Progress['eta'] {
  const { eta_low_seconds: low = null, eta_high_seconds: high = null } = forecast ?? {};
  return low === null || high === null ? null : { lowMs: low * 1000, highMs: high * 1000 };
}

type Outcomes = Extract<JobEvent, { event: 'items' }>['data']['outcomes'];

function countFailures(failures: Map<string, number>, outcomes: Outcomes): void {
  for (const { error_type: type } of outcomes) {
    if (type !== null) failures.set(printable(type, 40), (failures.get(printable(type, 40)) ?? 0) + 1);
  }
}
