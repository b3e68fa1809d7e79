import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Interrupted, Unreachable } from '../../src/contract/client/api-error.ts';
import { jobEvents, type WatchEvent } from '../../src/contract/client/job-events.ts';
import { answerJson, clientOf, HastyClock, startApi } from './api-stub.ts';

const SUMMARY = { pending: 1, queued: 0, in_progress: 1, success: 2, failed: 0, skipped: 0, cancelled: 0, total: 4 };

function begin(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' });
}

function frame(kind: string, data: object, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
}

const kindsOf = (events: readonly WatchEvent[]) => events.map(({ event }) => event);

test('events arrive as they were sent, in pieces of any size, and what is unknown or broken is skipped', async () => {
  const text = [
    ': keep-alive\n\n',
    frame('status', { job_id: 'é', status: 'in_progress', reason: null, summary: SUMMARY }, 'f-1'),
    'event: progress\ndata: {broken\n\n',
    frame('weather', { sun: true }),
    frame('end', {}, 'f-2'),
  ].join('');
  const { url } = await startApi(async (_, response) => {
    begin(response);
    for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
    response.end();
  });
  assert.deepEqual(await Array.fromAsync(jobEvents(clientOf(url).api, 'a')), [
    { event: 'status', data: { job_id: 'é', status: 'in_progress', reason: null, summary: SUMMARY } },
    { event: 'end', data: {} },
  ]);
});

test('an unknown value from a newer server does not cost the client an event', async () => {
  const { url } = await startApi((_, response) => {
    begin(response).end(frame('end', { job_id: 'a', status: 'archived', results_ready: true, summary: SUMMARY }));
  });
  assert.deepEqual(kindsOf(await Array.fromAsync(jobEvents(clientOf(url).api, 'a'))), ['end']);
});

test('a connection that breaks off is resumed after the last event, once its server is back', async () => {
  const asked: unknown[] = [];
  const { url } = await startApi((request, response) => {
    asked.push(request.headers['last-event-id']);
    if (asked.length === 2) return answerJson(response, { status: 503, code: 'stopping', detail: 'Stopping.' }, 503);
    if (asked.length === 3) return request.socket.destroy();
    begin(response).write(frame('items', { outcomes: [], omitted: 0 }, `f-${asked.length}`), () => {
      if (asked.length === 1) request.socket.destroy();
      else response.end(frame('end', {}));
    });
  });
  const { api, clock } = clientOf(url);
  assert.ok(clock instanceof HastyClock);
  const events = await Array.fromAsync(jobEvents(api, 'a b'));
  assert.deepEqual(kindsOf(events), ['items', 'lost', 'reconnected', 'items', 'end']);
  assert.deepEqual(asked, [undefined, 'f-1', 'f-1', 'f-1']);
  // Each try comes later, and never at once: a hundred watchers must not overwhelm a server that is restarting.
  assert.equal(clock.naps.length, 3);
  assert.ok(clock.naps.every((ms) => ms >= 100));
});

test('a server that closes the connection before the end of the job is asked again', async () => {
  let asked = 0;
  const { url } = await startApi((_, response) => {
    asked += 1;
    begin(response).end(asked < 3 ? frame('progress', {}, `f-${asked}`) : frame('end', {}));
  });
  const events = await Array.fromAsync(jobEvents(clientOf(url).api, 'a'));
  assert.deepEqual(kindsOf(events), ['progress', 'lost', 'reconnected', 'progress', 'lost', 'reconnected', 'end']);
});

test('silence counts as the end of a connection too', async () => {
  const waiting = Promise.withResolvers<void>();
  let asked = 0;
  const { url } = await startApi((_, response) => {
    asked += 1;
    if (asked === 1) begin(response).write(frame('progress', {}, 'f-1'), () => waiting.resolve());
    else begin(response).end(frame('end', {}));
  });
  const { api, clock } = clientOf(url);
  const events: WatchEvent[] = [];
  for await (const event of jobEvents(api, 'a')) {
    events.push(event);
    if (event.event === 'progress') {
      await waiting.promise;
      void clock.turn().then(() => clock.advance(60_000));
    }
  }
  assert.deepEqual(kindsOf(events), ['progress', 'lost', 'reconnected', 'end']);
  assert.match((events[1]?.event === 'lost' && events[1].error?.message) || '', /no answer within 60 s/);
});

test('a job that was deleted is gone, at once or between two connections', async () => {
  let asked = 0;
  const { url } = await startApi((request, response) => {
    asked += 1;
    if (request.url === '/jobs/deleted/events' || asked > 1) {
      return answerJson(response, { status: 404, code: 'job_not_found', detail: 'There is no job.' }, 404);
    }
    begin(response).end(frame('progress', {}));
  });
  const { api } = clientOf(url);
  assert.deepEqual(kindsOf(await Array.fromAsync(jobEvents(api, 'later'))), ['progress', 'lost', 'gone']);
  assert.deepEqual(kindsOf(await Array.fromAsync(jobEvents(api, 'deleted'))), ['gone']);
});

test('a server that does not come back is given up after ten minutes, and one that was never there soon', async () => {
  const { url, close } = await startApi((_, response) => {
    begin(response).end(frame('progress', {}), () => void close());
  });
  const { api, clock } = clientOf(url);
  assert.ok(clock instanceof HastyClock);
  clock.onNap = () => clock.advance(10_000);
  await assert.rejects(Array.fromAsync(jobEvents(api, 'a')), Unreachable);
  const tries = clock.naps.length;
  assert.ok(tries >= 60 && tries < 80, `${tries} tries`);
  clock.naps.length = 0;
  await assert.rejects(Array.fromAsync(jobEvents(api, 'a')), Unreachable);
  assert.equal(clock.naps.length, 5);
});

test('Ctrl-C stops watching', async () => {
  const stop = new AbortController();
  const { url } = await startApi((_, response) => begin(response).write(frame('progress', {})));
  const { api } = clientOf(url, { signal: stop.signal });
  await assert.rejects(async () => {
    for await (const _ of jobEvents(api, 'a')) stop.abort();
  }, Interrupted);
});
