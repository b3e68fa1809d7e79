import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { errorText, exitCodeOfError } from '../../src/cli/client/command-failure.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { ApiError, Interrupted, NotTrawl, Refused, Unreachable } from '../../src/contract/client/api-error.ts';
import { itemPath, jobPath } from '../../src/contract/client/api-paths.ts';
import { readPages } from '../../src/contract/client/pages.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { answerJson, bodyOf, clientOf, HastyClock, startApi } from './api-stub.ts';

/** An address at which no process listens. */
async function closedPort(): Promise<number> {
  const { port, close } = await startApi(() => {});
  await close();
  return port;
}

/** The error of a call that must fail. */
async function refusal(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(
    () => null,
    (failed: unknown) => failed,
  );
  assert.ok(error instanceof ApiError);
  return error;
}

test('a request carries the key, the query and the body, and the answer is what the server said', async () => {
  const { url } = await startApi(async (request, response) => {
    const { method, url: path, headers } = request;
    answerJson(response, {
      method,
      path,
      key: headers.authorization,
      body: JSON.parse((await bodyOf(request)) || '0'),
    });
  });
  const { api } = clientOf(`${url}/`, { apiKey: 'secret' });
  assert.deepEqual(await api.get('/jobs', { limit: 3, status: 'failed', cursor: undefined }), {
    ...{ method: 'GET', path: '/jobs?limit=3&status=failed', key: 'Bearer secret', body: 0 },
  });
  const posted = await api.post<{ body: unknown }>('/jobs', { scraper_id: 'x' });
  assert.deepEqual(posted.body, { scraper_id: 'x' });
});

test('ids may hold anything, and none of it changes the path', () => {
  assert.equal(itemPath('a/b', '../?x=1#é'), '/jobs/a%2Fb/items/..%2F%3Fx%3D1%23%C3%A9');
  assert.throws(() => jobPath('..'), /cannot be part of a URL/);
});

test('the client waits a while for a missing server, and then reports its address and what to do', async () => {
  const port = await closedPort();
  const { api, clock, notes } = clientOf(`http://127.0.0.1:${port}`);
  await assert.rejects(api.get('/jobs'), (error) => {
    assert.ok(error instanceof Unreachable);
    assert.equal(error.message, `cannot reach http://127.0.0.1:${port} (connection refused)`);
    assert.equal(errorText(error), `${error.message}. Is trawl serve running there? Set TRAWL_URL to its address`);
    assert.equal(exitCodeOfError(error), EXIT.badUsage);
    return true;
  });
  assert.ok(clock instanceof HastyClock);
  assert.equal(clock.naps.length, 5);
  assert.ok(clock.naps.every((ms, at) => at === 0 || ms > (clock.naps[at - 1] ?? 0) / 2));
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? '', /connection refused/);
});

test('what was refused never arrived, so that even a request that must not be repeated is sent again', async () => {
  const port = await closedPort();
  const { api, clock } = clientOf(`http://127.0.0.1:${port}`);
  assert.ok(clock instanceof HastyClock);
  clock.onNap = async () => {
    clock.onNap = () => {};
    await startApi((_, response) => answerJson(response, { ok: true }), port);
  };
  assert.deepEqual(await api.post('/jobs/a/resume'), { ok: true });
});

test('a broken connection is opened again for a query, but not for a request that may have been carried out', async () => {
  let seen = 0;
  const { url } = await startApi((request, response) => {
    seen += 1;
    if (seen < 3) request.socket.destroy();
    else answerJson(response, { seen });
  });
  const { api } = clientOf(url);
  assert.deepEqual(await api.get('/jobs'), { seen: 3 });
  seen = 0;
  await assert.rejects(api.post('/jobs/a/resume'), Unreachable);
  assert.equal(seen, 1);
  seen = 0;
  assert.deepEqual(await api.post('/jobs/a/pause', undefined, { isRepeatable: true }), { seen: 3 });
});

test('a server that cannot serve now says when to retry, and the client complies', async () => {
  let seen = 0;
  const { url } = await startApi((_, response) => {
    seen += 1;
    if (seen === 1) response.setHeader('retry-after', '7');
    if (seen === 2) response.setHeader('retry-after', '9999');
    if (seen < 3) answerJson(response, { status: 503, code: 'stopping', detail: 'The server is stopping.' }, 503);
    else answerJson(response, { seen });
  });
  const { api, clock } = clientOf(url);
  assert.ok(clock instanceof HastyClock);
  assert.deepEqual(await api.get('/jobs'), { seen: 3 });
  // No server can make us wait for longer than half a minute.
  assert.deepEqual(clock.naps, [7000, 30_000]);
  seen = 0;
  await assert.rejects(api.post('/jobs/a/resume'), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual([errorText(error), exitCodeOfError(error)], ['The server is stopping.', EXIT.failed]);
    return true;
  });
});

test('a problem is shown with its detail and one line for each bad field, and cannot control the terminal', async () => {
  const errors = [
    { path: 'execution_policy.throttling', message: 'unknown field\x1b[31m' },
    { path: '', message: '2 items were added before' },
  ];
  const { url } = await startApi((_, response) => {
    answerJson(response, { status: 422, code: 'invalid_request', detail: 'Not\r\nso.', errors }, 422);
  });
  await assert.rejects(clientOf(url).api.get('/jobs'), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual(
      [errorText(error), error.status, error.code, exitCodeOfError(error)],
      [
        'Not so.\n  execution_policy.throttling: unknown field [31m\n  2 items were added before',
        ...[422, 'invalid_request', EXIT.badUsage],
      ],
    );
    return true;
  });
});

test('a user without a key, or with a read-only one, learns which variable to set', async () => {
  const problems = {
    '/no-key': { status: 401, code: 'unauthorized', detail: 'A key is needed.' },
    '/read-only': { status: 403, code: 'forbidden', detail: 'This key may only read.' },
    '/host': { status: 403, code: 'forbidden_host', detail: 'The request is for another host.' },
  };
  const { url } = await startApi(({ url: path }, response) => {
    const problem = problems[path as keyof typeof problems];
    answerJson(response, problem, problem.status);
  });
  const { api } = clientOf(url);
  const told = async (path: string) => errorText(await refusal(api.get(path)));
  assert.equal(await told('/no-key'), 'A key is needed.\n  set TRAWL_API_KEY to a key that the server accepts');
  assert.equal(await told('/read-only'), 'This key may only read.\n  set TRAWL_API_KEY to a key that is not read-only');
  assert.equal(await told('/host'), 'The request is for another host.');
});

test('another server at that address is recognised, whatever it answers', async () => {
  const { url } = await startApi(({ url: path }, response) => {
    if (path === '/page') response.end('<html>');
    else if (path === '/moved') response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    else response.writeHead(502, 'Bad\tGateway').end('<html>');
  });
  const { api } = clientOf(url, { apiKey: 'secret' });
  const page = await refusal(api.get('/page'));
  assert.ok(page instanceof NotTrawl);
  assert.match(errorText(page), /does not seem to be a Trawl server\. Set TRAWL_URL to the address of the API$/);
  const broken = await refusal(api.get('/broken'));
  assert.deepEqual([errorText(broken), exitCodeOfError(broken)], ['the server answered 502 Bad Gateway', EXIT.failed]);
  await assert.rejects(api.get('/moved'), /the server answered 302/);
});

test('a server that says nothing is not waited for indefinitely', async () => {
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const { url } = await startApi(() => resolve());
  const { api, clock } = clientOf(url, { clock: new FakeClock() });
  const asked = assert.rejects(api.post('/jobs/a/resume'), /cannot reach .* \(no answer within 60 s\)/);
  await arrived;
  await clock.advance(59_000);
  await clock.advance(1000);
  await asked;
});

test('time that the reader of an answer takes is not counted against the server', async () => {
  const { url } = await startApi((_, response) => {
    response.write('first');
    response.end('last');
  });
  const { api, clock } = clientOf(url, { clock: new FakeClock() });
  const answer = await api.open({ method: 'GET', path: '/export' });
  let text = '';
  for await (const piece of answer.bytes()) {
    text += Buffer.from(piece).toString();
    await clock.advance(600_000);
  }
  answer.close();
  assert.equal(text, 'firstlast');
  await clock.advance(600_000);
  assert.equal(clock.sleepers, 0);
});

test('time that a list takes to come out of a pipe is not counted against the server either', async () => {
  const { url } = await startApi(async (request, response) => answerJson(response, { got: await bodyOf(request) }));
  const { api, clock } = clientOf(url, { clock: new FakeClock() });
  async function* slowly() {
    yield Buffer.from('a');
    await clock.advance(600_000);
    yield Buffer.from('b');
  }
  assert.deepEqual(await api.json({ method: 'POST', path: '/jobs/a/items', stream: slowly() }), { got: 'ab' });
});

test('Ctrl-C ends any wait', async () => {
  const stop = new AbortController();
  const { promise: arrived, resolve } = Promise.withResolvers<ServerResponse>();
  const { url } = await startApi((_, response) => resolve(response));
  const { api } = clientOf(url, { signal: stop.signal });
  const asked = assert.rejects(api.get('/jobs'), (error) => {
    return error instanceof Interrupted && exitCodeOfError(error) === EXIT.interrupted;
  });
  const response = await arrived;
  stop.abort();
  await asked;
  if (!response.destroyed) await once(response, 'close');

  const { api: patient } = clientOf(`http://127.0.0.1:${await closedPort()}`, { signal: stop.signal });
  await assert.rejects(patient.get('/jobs'), Interrupted);
});

test('a list is requested page by page, past empty pages, and no further than wanted', async () => {
  const pages: Record<string, { jobs: number[]; next_cursor: string | null }> = {
    '/jobs?limit=4': { jobs: [1, 2], next_cursor: 'a&b' },
    '/jobs?limit=2&cursor=a%26b': { jobs: [], next_cursor: 'c' },
    '/jobs?limit=2&cursor=c': { jobs: [3, 4], next_cursor: 'd' },
  };
  const { url } = await startApi(({ url: path = '' }, response) => answerJson(response, pages[path] ?? {}, 200));
  const seen = await Array.fromAsync(
    readPages<{ jobs: number[]; next_cursor: string | null }>(
      clientOf(url).api,
      '/jobs',
      {},
      {
        ...{ limit: 4, pageSize: 100, countOf: ({ jobs }) => jobs.length },
      },
    ),
    ({ jobs }) => jobs,
  );
  assert.deepEqual(seen, [[1, 2], [], [3, 4]]);
});
