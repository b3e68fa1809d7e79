import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type TestContext, test } from 'node:test';
import { createParser } from 'eventsource-parser';
import { EventStream } from '../../src/controller/engine/events.ts';
import { JobFeeds } from '../../src/controller/feed/job-feeds.ts';
import { RateBook } from '../../src/controller/feed/rate-book.ts';
import { NO_ITEM_WAITS } from '../../src/ports/item-waits.ts';
import type { SettledItem } from '../../src/ports/ledger.ts';
import { newItems, newJob } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryStepRecords } from '../support/memory/step-records.ts';

/** The feed served by a real HTTP server, which does what a route does with it and nothing else. */
async function serve(t: TestContext) {
  const clock = new FakeClock();
  const ledger = openMemoryLedger();
  const events = new EventStream();
  await ledger.createJob(newJob(), newItems(1), clock.now());
  const feeds = new JobFeeds({
    ...{ events, ledger, rates: new RateBook({ events, clock }), clock, settings: {} },
    itemWaits: NO_ITEM_WAITS,
    stepRecords: openMemoryStepRecords(ledger),
  });
  const answers: ServerResponse[] = [];
  const server = createServer(async (_, response) => {
    answers.push(response);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const stream = await feeds.watch('job-1', null, gone.signal);
    assert.ok(typeof stream === 'object');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await pipeline(Readable.from(stream, { objectMode: false }), response).catch(() => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    await feeds.close();
    server.closeAllConnections();
    server.close();
  });
  const connect = async (): Promise<IncomingMessage> => {
    const { port } = server.address() as AddressInfo;
    const [response] = await once(get({ host: '127.0.0.1', port }), 'response');
    return response;
  };
  return { clock, events, feeds, answers, connect };
}

/** Resolves to the data of the first event of that kind. */
function hear(response: IncomingMessage, kind: string): Promise<Record<string, unknown>> {
  const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
  const parser = createParser({
    maxBufferSize: Number.POSITIVE_INFINITY,
    onEvent: ({ event, data }) => event === kind && resolve(JSON.parse(data)),
  });
  response.setEncoding('utf8').on('data', (chunk: string) => parser.feed(chunk));
  return promise;
}

test('a client that hangs up is no longer a watcher', { timeout: 120_000 }, async (t) => {
  const { feeds, answers, connect } = await serve(t);
  const response = await connect();
  await hear(response, 'progress');
  assert.equal(feeds.watchers, 1);
  const closed = once(answers[0] ?? assert.fail(), 'close');
  response.destroy();
  await closed;
  assert.equal(feeds.watchers, 0);
});

test('closing the feeds ends the answers properly', { timeout: 120_000 }, async (t) => {
  const { feeds, connect } = await serve(t);
  const response = await connect();
  await hear(response, 'progress');
  const ended = once(response, 'end');
  await feeds.close();
  await ended;
  assert.equal(response.complete, true);
});

test('a client that stops reading costs the server no memory, and learns what it missed when it continues', {
  timeout: 120_000,
}, async (t) => {
  const { clock, events, answers, connect } = await serve(t);
  const response = await connect();
  response.pause();
  const item: SettledItem = {
    seq: 0,
    itemId: 'x'.repeat(1000),
    durationMs: 1,
    status: 'success',
    errorType: null,
    artifacts: 0,
  };
  const items = Array.from({ length: 100 }, () => item);
  const [answer = assert.fail()] = answers;
  // Far more than the sockets of both sides hold.
  for (let n = 0; n < 300; n += 1) {
    events.publish({ kind: 'settled', jobId: 'job-1', items });
    await clock.advance(500);
  }
  assert.equal(answer.writableNeedDrain, true);
  assert.ok(answer.writableLength < 500_000, `${answer.writableLength} bytes wait`);
  const reset = hear(response, 'reset');
  response.resume();
  assert.deepEqual(await reset, { job_id: 'job-1', reason: 'too_slow' });
});
