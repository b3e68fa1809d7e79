import type { FailureType } from './failure.ts';
import type { HeldBack } from './job-wait.ts';
import type { Usage } from './usage.ts';

/**
 * Control items: inputs that are known to exist, tried now and then while a job runs. One that is not found, or returns
 * other data, shows that the site no longer answers as it should, although every single answer looks believable.
 *
 * A control is
 *
 *   due        it is to be sent to a worker
 *   out        sent, and its report is awaited; sent again if that takes long, because its worker may have died
 *   reported   good, bad or unclear. A bad one pauses the job, and when it is resumed, the negatives since the last good one
 *              are reopened. An unclear one (a timeout, a block) is tried again after a while.
 *
 * Since the last good control no more than `every` items are risked: counted are those that have finished since it was
 * sent, and those in flight.
 */
export interface ControlState {
  /** Number of the last control that was sent; reports refer to it. */
  readonly tried: number;
  readonly good: number;
  readonly out: ControlOut | null;
  /** The tally when the last good control was sent. */
  readonly mark: ControlMark;
  /** Nothing is dispatched before a control was good: at the beginning, and after the job was stopped. */
  readonly isOwed: boolean;
  /** When the last good control began, by its worker's clock; null before the first. */
  readonly goodAt: number | null;
  /** Unclear reports in a row, and the time before which there is no further try. */
  readonly unclear: number;
  readonly nextAt: number;
  /**
   * Set by a bad control: negatives since then (null for all of them) must be reopened. The job is neither dispatched
   * nor completed before that is done.
   */
  readonly suspect: { readonly since: number | null } | null;
  readonly last: ControlResult | null;
  /** What controls without `expect` returned the first time: digests of their fields, by the control's key. */
  readonly baselines: Readonly<Record<string, FieldDigests>>;
}

/** Numbers of the job's tally. */
export interface ControlMark {
  readonly finished: number;
  readonly missed: number;
}

export interface ControlOut {
  readonly number: number;
  readonly sends: number;
  readonly sendAgainAt: number;
  readonly mark: ControlMark;
}

interface ControlResult {
  readonly result: 'good' | 'bad' | 'unclear';
  readonly message: string;
  readonly at: number;
}

export type FieldDigests = Readonly<Record<string, string>>;

/** What a worker saw when it tried a control. */
export interface ControlReport {
  readonly number: number;
  /** Identifies the control: the same input has the same key. */
  readonly key: string;
  /** The input in words, at most MAX_CONTROL_TEXT. */
  readonly input: string;
  readonly startedAt: number;
  readonly seen: ControlSeen;
  /** Usage of all its tries together. */
  readonly usage: Usage;
}

export type ControlSeen =
  /** `wrong` says which of the expected fields have another value; null if no fields were expected by name. */
  | { readonly kind: 'data'; readonly digests: FieldDigests; readonly wrong: string | null }
  | { readonly kind: 'failed'; readonly type: FailureType; readonly message: string }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** The host must not be visited before `until`. */
  | ({ readonly kind: 'held' } & HeldBack);

export const MAX_CONTROL_TEXT = 300;

/** Further fields are combined under one name, because all of this is stored in the job's row. */
export const MAX_CONTROL_FIELDS = 40;

/** How often an unclear control is tried before the job is paused for it. */
const MAX_UNCLEAR = 8;
const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 60_000;

/** A message may be lost; one that waits in a long queue is repeated less and less often. */
const SEND_AGAIN_MS = 30_000;
export const LONGEST_SEND_AGAIN_MS = 16 * SEND_AGAIN_MS;

const NO_MARK: ControlMark = { finished: 0, missed: 0 };

export const FRESH_CONTROLS: ControlState = {
  tried: 0,
  good: 0,
  out: null,
  mark: NO_MARK,
  isOwed: true,
  goodAt: null,
  unclear: 0,
  nextAt: 0,
  suspect: null,
  last: null,
  baselines: {},
};

/** The job was stopped, or its counts start over: the next control goes first. */
export function owing(state: ControlState): ControlState {
  return { ...state, out: null, mark: NO_MARK, isOwed: true, unclear: 0, nextAt: 0 };
}

export function whenSent(state: ControlState, mark: ControlMark, now: number): ControlState {
  const { out } = state;
  const sends = (out?.sends ?? 0) + 1;
  const sendAgainAt = now + Math.min(LONGEST_SEND_AGAIN_MS, SEND_AGAIN_MS * 2 ** (sends - 1));
  if (out !== null) return { ...state, out: { ...out, sends, sendAgainAt } };
  const number = state.tried + 1;
  return { ...state, tried: number, out: { number, sends, sendAgainAt, mark } };
}

/** `stop`: the control cannot be tried at all, which says nothing about the site. */
export type ControlVerdict = {
  /** `held`: the job waits for a host, and the control is tried again after that. */
  readonly kind: 'good' | 'bad' | 'unclear' | 'stop' | 'held';
  readonly message: string;
};

export function judgeControl(state: ControlState, { key, input, seen }: ControlReport): ControlVerdict {
  const about = `control ${input}`;
  switch (seen.kind) {
    case 'held':
      return { kind: 'held', message: `${about} waits for ${seen.host}: ${seen.reason}` };
    case 'skipped':
      return { kind: 'stop', message: `${about} was skipped (${seen.reason}): choose one that can be tried` };
    case 'failed': {
      const kind = KIND_OF[seen.type] ?? 'bad';
      const what = `${seen.type}: ${seen.message}`;
      if (kind === 'bad') return { kind, message: `${about} must be found, but returned ${what}` };
      const isLast = state.unclear + 1 >= MAX_UNCLEAR;
      const again = isLast ? `could not be tried ${MAX_UNCLEAR} times in a row` : 'could not be tried';
      return { kind: isLast ? 'stop' : kind, message: `${about} ${again}: ${what}` };
    }
    case 'data': {
      if (seen.wrong !== null) {
        const isRight = seen.wrong === '';
        return {
          kind: isRight ? 'good' : 'bad',
          message: `${about} returned ${isRight ? 'what is expected' : seen.wrong}`,
        };
      }
      const changed = differingFields(state.baselines[key] ?? seen.digests, seen.digests);
      if (changed.length === 0) return { kind: 'good', message: `${about} returned the same data` };
      const fields = changed.slice(0, 10).join(', ');
      return { kind: 'bad', message: `${about} returned other data than the first time in this job: ${fields}` };
    }
  }
}

/** Failures of a control that say nothing about the site's answers; all others are bad. */
const KIND_OF: Partial<Record<FailureType, 'unclear' | 'stop'>> = {
  timeout: 'unclear',
  network_error: 'unclear',
  server_error: 'unclear',
  blocked: 'unclear',
  rate_limited: 'unclear',
  maintenance: 'unclear',
  proxy_error: 'unclear',
  navigation_failed: 'unclear',
  poison: 'unclear',
  unexpected: 'unclear',
  proxy_config: 'stop',
  invalid_input: 'stop',
  refused_address: 'stop',
};

function differingFields(before: FieldDigests, after: FieldDigests): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name]).sort();
}

/** The state after a report that was awaited. */
export function whenReported(
  state: ControlState,
  out: ControlOut,
  report: ControlReport,
  verdict: ControlVerdict,
  now: number,
): ControlState {
  const { kind, message } = verdict;
  const last: ControlResult = { result: kind === 'good' || kind === 'bad' ? kind : 'unclear', message, at: now };
  const known = { ...state, out: null, last };
  switch (kind) {
    case 'good': {
      const { seen, key, startedAt } = report;
      const isFirst = seen.kind === 'data' && seen.wrong === null && !(key in state.baselines);
      const baselines = isFirst ? { ...state.baselines, [key]: seen.digests } : state.baselines;
      const good = { good: state.good + 1, goodAt: startedAt, mark: out.mark, isOwed: false, unclear: 0, nextAt: 0 };
      return { ...known, ...good, baselines };
    }
    case 'bad':
      return { ...known, unclear: 0, nextAt: 0, suspect: { since: state.goodAt } };
    case 'stop':
    case 'held':
      return { ...known, unclear: 0, nextAt: 0 };
    case 'unclear': {
      const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** state.unclear);
      return { ...known, unclear: state.unclear + 1, nextAt: now + waitMs };
    }
  }
}

/** The longest wait that `nextAt` can have been set to: see `isDue`. */
export const LONGEST_UNCLEAR_WAIT_MS = LONGEST_WAIT_MS;
