import { createParser } from 'eventsource-parser';
import { type JobEvent, readJobEvent } from '../events.ts';
import type { ApiClient } from './api-client.ts';
import { type ApiError, Refused, Unreachable } from './api-error.ts';
import { jobPath } from './api-paths.ts';

/** An event of the job, or a change of the connection that brings them. */
export type WatchEvent =
  | JobEvent
  /** The connection broke. `error` is null if the server ended it. */
  | { readonly event: 'lost'; readonly error: ApiError | null }
  | { readonly event: 'reconnected' };

/** The API sends something at least every 15 s, if only a comment. */
const SILENCE_MS = 60_000;
const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;
/** Long enough to repair a controller; after that, a caller may as well try again later. */
const PATIENCE_MS = 10 * 60_000;
const MAX_EVENT_CHARACTERS = 4 * 2 ** 20;

/**
 * The events of a job until it is over or deleted. After a broken connection it resumes with the event after the last one
 * that arrived. It never polls: without news there is no request.
 */
export async function* jobEvents(api: ApiClient, jobId: string): AsyncGenerator<WatchEvent> {
  let lastId: string | null = null;
  let failures = 0;
  let heardAt: number | null = null;
  for (;;) {
    try {
      const connection: AsyncIterable<Arrived | 'connected'> = connect(api, jobId, lastId, heardAt !== null);
      for await (const arrived of connection) {
        heardAt = api.clock.elapsed();
        if (arrived === 'connected') {
          if (failures > 0) yield { event: 'reconnected' };
          continue;
        }
        const { event, id } = arrived;
        if (id !== null) lastId = id;
        yield event;
        failures = 0;
        if (event.event === 'end' || event.event === 'gone') return;
      }
      if (failures === 0) yield { event: 'lost', error: null };
    } catch (error) {
      if (isGone(error)) {
        yield { event: 'gone', data: { job_id: jobId } };
        return;
      }
      const isLasting = heardAt === null || api.clock.elapsed() - heardAt > PATIENCE_MS;
      if (isLasting || !(error instanceof Unreachable || isUnavailable(error))) throw error;
      if (failures === 0) yield { event: 'lost', error };
    }
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** failures, LONGEST_DELAY_MS);
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
  readonly id: string | null;
}

async function* connect(
  api: ApiClient,
  jobId: string,
  lastId: string | null,
  isTriedOnce: boolean,
): AsyncGenerator<Arrived | 'connected'> {
  const answer = await api.open({
    method: 'GET',
    path: `${jobPath(jobId)}/events`,
    headers: { accept: 'text/event-stream', ...(lastId === null ? {} : { 'last-event-id': lastId }) },
    isTriedOnce,
    silenceMs: SILENCE_MS,
  });
  try {
    yield 'connected';
    const arrived: Arrived[] = [];
    const parser = createParser({
      maxBufferSize: MAX_EVENT_CHARACTERS,
      onEvent: ({ event: name = '', data, id = null }) => {
        const event = readJobEvent(name, data);
        if (event !== null) arrived.push({ event, id });
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
