import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { backoffMs } from '../../domain/backoff.ts';
import type { JobAnswer, SummaryAnswer } from '../../wiring-client.ts';
import type { ApiClient } from './api-client.ts';
import { Refused, Unreachable } from './api-error.ts';
import { jobPath } from './api-paths.ts';

/** What the API tells of a job while it goes on, and what becomes of the connection that tells it. */
export type JobEvent =
  | {
      readonly kind: 'status';
      readonly status: JobAnswer['status'];
      readonly reason: JobAnswer['reason'];
      readonly summary: SummaryAnswer;
    }
  | {
      readonly kind: 'progress';
      readonly status: JobAnswer['status'];
      readonly progress_pct: number;
      readonly items_per_second: number | null;
      readonly eta_seconds: number | null;
      readonly summary: SummaryAnswer;
    }
  | {
      readonly kind: 'items';
      readonly outcomes: readonly {
        readonly item_id: string;
        readonly status: string;
        readonly error_type: string | null;
      }[];
      readonly omitted: number;
    }
  /** Events are missing: what was counted from them holds no longer. */
  | { readonly kind: 'reset' }
  /** The job is over. */
  | { readonly kind: 'end' }
  /** There is no such job any more. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'lost'; readonly message: string }
  | { readonly kind: 'found' };

const KINDS = ['status', 'progress', 'items', 'reset', 'end', 'gone'];

/** The API says something at least every 15 s, if only that it is there. */
const SILENCE_MS = 60_000;
const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;
/** A controller that is being repaired; whoever watches may as well ask again later. */
const PATIENCE_MS = 10 * 60_000;
const MAX_EVENT_CHARACTERS = 4 * 2 ** 20;

/**
 * The events of a job until it is over or gone. A connection that breaks off is made again, and goes on behind the last
 * event that arrived. Nothing is asked in between: where there is no news, there is no request.
 */
export async function* jobEvents(api: ApiClient, jobId: string): AsyncGenerator<JobEvent> {
  let lastId: string | null = null;
  let failures = 0;
  let heardAt: number | null = null;
  for (;;) {
    try {
      for await (const { event, id } of connection(api, jobId, lastId, heardAt !== null)) {
        if (id !== undefined) lastId = id;
        if (event.kind === 'found' ? failures > 0 : true) yield event;
        if (event.kind !== 'found') failures = 0;
        heardAt = api.clock.elapsed();
        if (event.kind === 'end' || event.kind === 'gone') return;
      }
      if (failures === 0) yield { kind: 'lost', message: 'the server ended the connection' };
    } catch (error) {
      if (isGone(error)) {
        yield { kind: 'gone' };
        return;
      }
      const isLasting = heardAt === null || api.clock.elapsed() - heardAt > PATIENCE_MS;
      if (isLasting || !(error instanceof Unreachable || isUnavailable(error))) throw error;
      if (failures === 0) yield { kind: 'lost', message: error.message };
    }
    const delayMs = backoffMs(failures, FIRST_DELAY_MS, LONGEST_DELAY_MS);
    failures += 1;
    await api.clock.sleep(delayMs * (0.5 + api.clock.chance()), api.signal);
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Refused && error.status === 404;
}

function isUnavailable(error: unknown): error is Refused {
  return error instanceof Refused && error.status >= 500;
}

interface Arrived {
  readonly event: JobEvent;
  readonly id?: string;
}

async function* connection(
  api: ApiClient,
  jobId: string,
  lastId: string | null,
  isTriedOnce: boolean,
): AsyncGenerator<Arrived> {
  const answer = await api.open({
    method: 'GET',
    path: `${jobPath(jobId)}/events`,
    headers: { accept: 'text/event-stream', ...(lastId === null ? {} : { 'last-event-id': lastId }) },
    isTriedOnce,
    silenceMs: SILENCE_MS,
  });
  try {
    yield { event: { kind: 'found' } };
    const arrived: Arrived[] = [];
    const parser = createParser({
      maxBufferSize: MAX_EVENT_CHARACTERS,
      onEvent: (message) => {
        const event = eventOf(message);
        if (event !== null) arrived.push({ event, ...(message.id === undefined ? {} : { id: message.id }) });
      },
    });
    const decoder = new TextDecoder();
    for await (const piece of answer.bytes()) {
      parser.feed(decoder.decode(piece, { stream: true }));
      yield* arrived.splice(0);
    }
  } finally {
    answer.close();
  }
}

/** Null for what a newer API may tell and we do not know. */
function eventOf({ event = '', data }: EventSourceMessage): JobEvent | null {
  if (!KINDS.includes(event)) return null;
  try {
    return { ...(JSON.parse(data || '{}') as object), kind: event } as JobEvent;
  } catch {
    return null;
  }
}
