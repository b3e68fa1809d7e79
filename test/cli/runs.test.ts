import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openEtlServer } from '../runs/etl-server.ts';
import { sized } from '../support/sized.ts';
import { untilTrue } from '../support/until.ts';
import { BIN, CHEAP, command, startTrawl, tempFolder, trawl, writeLines } from './trawl.ts';

const SCRAPERS = fileURLToPath(new URL('../api/scrapers', import.meta.url));
const FOLDER = tempFolder();

async function given(t: Parameters<typeof openEtlServer>[0], name: string, more: Record<string, string> = {}) {
  const server = await openEtlServer(t);
  const env = {
    ...{ ETL_API_ENDPOINT: server.endpoint, ETL_API_KEY: 'etl-secret', TRAWL_SCRAPERS: SCRAPERS },
    ...{ TRAWL_DATA_DIR: join(FOLDER, name), ...more },
  };
  return { server, env, runs: (...args: string[]) => command(['runs', ...args], env) };
}

const SCRAPER = ['--scraper', 'test-run-pages'];

async function piped(args: readonly string[], env: Readonly<Record<string, string>>, input: string) {
  const child = spawn(BIN, args, { env: { ...process.env, ...CHEAP, ...env } });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { stdout, stderr };
}

test('a run from its URLs to its end, shown, listed, retried and ended by hand', async (t) => {
  const { server, runs } = await given(t, 'whole');
  const urls = ['https://county.test/1', 'https://county.test/2?end=missing', 'https://county.test/3?end=broken'];
  const file = writeLines(FOLDER, 'urls.txt', ['# pages', ...urls]);
  const none = await runs('start', 'county.test', ...SCRAPER);
  assert.deepEqual([none.code, /has no active run/.test(none.stderr)], [2, true], none.stderr);
  const started = await runs('start', 'county.test', ...SCRAPER, '--urls', file, '--sessions', '2');
  assert.equal(started.stdout, 'Run run-1 of county.test has ended. 3 items: 1 done, 2 failed or invalid, 0 pending\n');
  assert.equal(started.code, 1, started.stderr);
  assert.deepEqual(server.runs.get('run-1')?.metadata['finished_count'], 1);

  const shown = await runs('show', 'run-1');
  assert.match(shown.stdout, /Run run-1 of county\.test: finished/);
  assert.match(shown.stdout, /^ {2}invalid https:\/\/county\.test\/2\?end=missing: not_found: there is no such page/m);
  const listed = await runs('list', '--domain', 'county.test', '--json');
  const [first] = JSON.parse(listed.stdout);
  assert.deepEqual([first.run_id, first.items], ['run-1', { total: 3, completed: 1, failed: 2, pending: 0 }]);
  assert.match((await runs('list')).stdout, /run-1 +county\.test +finished/);

  const again = await runs('retry', 'run-1', ...SCRAPER, '--json');
  assert.deepEqual(JSON.parse(again.stdout), {
    ...{ run_id: 'run-1', domain: 'county.test', ended: true, job_ids: ['run-run-1-1', 'run-run-1-2'] },
    items: { total: 3, completed: 1, failed: 2, pending: 0 },
  });
  const watched = await runs('watch', 'run-1');
  assert.deepEqual(
    [watched.code, watched.stdout],
    [1, 'Run run-1 has ended. 3 items: 1 done, 2 failed or invalid, 0 pending\n'],
  );
  const finished = server.runs.get('run-1');
  assert.ok(finished);
  server.runs.set('open', { ...finished, id: 'open', endTime: null, status: 'processing' });
  assert.match((await runs('finalize', 'open')).stdout, /^Run open has ended/);
  assert.equal(server.runs.get('open')?.status, 'finished');
  assert.match((await runs('show', 'nobody')).stderr, /^trawl: the ETL API answered 404 .*: no such run$/m);
});

test('URLs may come from stdin, and an active run is used without them, which is reported', async (t) => {
  const { server, env } = await given(t, 'stdin');
  const args = ['runs', 'start', 'stdin.test', ...SCRAPER, '--urls', '-'];
  const list = JSON.stringify(['https://stdin.test/1', { url: 'https://stdin.test/2' }]);
  const started = await piped(args, env, list);
  assert.match(started.stdout, /of stdin\.test has ended\. 2 items: 2 done/, started.stderr);
  const first = server.runs.get('run-1');
  assert.ok(first);
  const items = [{ url: 'https://stdin.test/3', done: false }];
  server.runs.set('open', { ...first, id: 'open', items, endTime: null, status: 'pending' });
  const taken = await piped(args, env, list);
  assert.match(taken.stderr, /Taking the active run open; the URLs that were given are only for a new one/);
  assert.equal(items[0]?.done, true);
});

test('a server that is away for a moment is reported in a sentence, not as a log', async (t) => {
  const { server, runs } = await given(t, 'away');
  server.troubles.push('refused', { status: 503, retryAfter: '0' });
  const { code, stderr } = await runs('list');
  assert.equal(code, 0);
  const [first, second, ...others] = stderr.trimEnd().split('\n');
  assert.match(first ?? '', /^the ETL API could not be reached for GET .*; trying again$/);
  assert.match(second ?? '', /^the ETL API answered 503 to GET .*: not now; trying again$/);
  assert.deepEqual(others, ['No matching runs.']);
});

test('when the breaker stops a job, the run stays open, and the command that resumes it is shown', async (t) => {
  const { server, runs } = await given(t, 'breaker');
  const file = join(FOLDER, 'the-site-works');
  const urls = Array.from({ length: 20 }, (_, at) => `https://city.test/${at}${at < 8 ? '' : `?unless=${file}`}`);
  const policy = join(FOLDER, 'policy.json');
  writeFileSync(policy, JSON.stringify({ circuit_breaker: { min_requests: 8, consecutive_failures: 3 } }));
  const list = ['--urls', writeLines(FOLDER, 'city.txt', urls), '--sessions', '1', '--max-items-per-session', '4'];
  const stopped = await runs('start', 'city.test', ...SCRAPER, ...list, '--policy', policy);
  assert.equal(stopped.code, 3, stopped.stderr);
  assert.match(stopped.stdout, /^Run run-1 of city\.test stays open\. 20 items: 8 done/);
  assert.match(stopped.stderr, /trawl runs start city\.test resumes it\.$/m);
  writeFileSync(file, '');
  const resumed = await runs('start', 'city.test', ...SCRAPER);
  assert.match(resumed.stdout, /^Run run-1 of city\.test has ended\. .* 0 pending/, resumed.stderr);
  assert.equal(server.runs.get('run-1')?.status, 'finished');
});

test('what is missing is reported before anything is done', async () => {
  const env = { ETL_API_ENDPOINT: '', ETL_API_KEY: '', TRAWL_DATA_DIR: join(FOLDER, 'nothing') };
  for (const args of [['start', 'county.test'], ['list'], ['retry', 'run-1']]) {
    const { code, stderr } = await command(['runs', ...args], env);
    assert.equal(code, 2);
    assert.match(stderr, /set ETL_API_ENDPOINT to the address of the ETL API, and ETL_API_KEY to its key/);
  }
  const endpoint = { ...env, ETL_API_ENDPOINT: 'http://127.0.0.1:9', ETL_API_KEY: 'etl-secret' };
  const { stderr } = await command(['runs', 'start', 'nowhere.example', '--urls', 'missing.txt'], endpoint);
  assert.match(stderr, /no such file: missing\.txt/);
  const noScraper = await command(['runs', 'start', 'nowhere.example'], endpoint);
  assert.match(noScraper.stderr, /no scraper has the host nowhere\.example: name one \(--scraper\)/);
  const refused = async (...args: string[]) => (await command(['runs', 'start', ...args], endpoint)).stderr;
  const bad = writeLines(FOLDER, 'bad.txt', ['https://nowhere.example/1', '/2']);
  assert.match(await refused('nowhere.example', '--urls', bad), /bad\.txt: \/2 must be an absolute http or https URL/);
  assert.match(await refused('nowhere.example', '--scraper', 'x-y'), /no scraper x-y; trawl scrapers list shows all/);
  assert.match(await refused(''), /name the domain of the run/);
  const broken = await command(['runs', 'list'], { ...endpoint, ETL_API_KEY: 'etl-\nsecret' });
  assert.match(broken.stderr, /ETL_API_KEY: must be printable ASCII characters without spaces$/m);
  assert.doesNotMatch(broken.stderr, /secret/);
});

/** Real processes, killed with all their workers; each life may only get as far as the next gate. */
const KILLS = sized({ quick: 1, slow: 50 });
const URLS_PER_LIFE = 5;

test('killed again and again, a run continues where it was, and loses nothing; a second start at the same time is refused', async (t) => {
  const { server, env } = await given(t, 'killed', { TRAWL_LEASE_MS: '1000' });
  const gates = Array.from({ length: KILLS }, (_, life) => join(FOLDER, `gate-${life}`));
  for (const gate of gates) writeFileSync(gate, '');
  const urls = ['', ...gates].flatMap((gate, life) =>
    Array.from({ length: URLS_PER_LIFE }, (_, at) => {
      const held = gate === '' ? '' : `?while=${encodeURIComponent(gate)}`;
      return `https://slow.test/${life}-${at}${held}`;
    }),
  );
  const file = writeLines(FOLDER, 'slow.txt', urls);
  const args = ['runs', 'start', 'slow.test', ...SCRAPER, '--urls', file, '--sessions', '1'];
  const done = () => server.runs.get('run-1')?.items.filter((item) => item.done).length ?? 0;
  for (const [life, gate] of gates.entries()) {
    const running = startTrawl(args, env);
    // This need not be after the last report of this life: the next one reports what was settled and not reported.
    await untilTrue(() => done() > life * URLS_PER_LIFE + (life % URLS_PER_LIFE));
    if (life === 0) {
      const second = await trawl(args, env);
      assert.notEqual(second.code, 0);
      assert.match(second.stderr, /a run of slow\.test is already being carried out here, by process \d+; nothing was/);
    }
    running.signalGroup('SIGKILL');
    await running.ended;
    assert.ok(done() <= (life + 1) * URLS_PER_LIFE);
    rmSync(gate);
  }

  const last = await trawl(args, env);
  assert.match(last.stderr, /Run run-1 was started before; continuing with job run-run-1-1/);
  assert.deepEqual([last.code, server.runs.size, done()], [0, 1, urls.length], last.stderr);
  assert.equal(server.runs.get('run-1')?.status, 'finished');
});
