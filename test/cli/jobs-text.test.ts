import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { type Column, statusStyle, tableText } from '../../src/cli/client/table.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { formatTook, printable } from '../../src/cli/format.ts';
import { command, deletedText, exitCodeOfJob, jobEndText, jobText } from '../../src/cli/jobs/job-text.ts';
import { keyValues } from '../../src/cli/jobs/options.ts';
import { resultsText } from '../../src/cli/jobs/results.ts';
import { retriedText } from '../../src/cli/jobs/retry.ts';
import { isOver } from '../../src/cli/jobs/watch-job.ts';
import type { JobAnswer } from '../../src/contract/job-answers.ts';
import type { ResultsAnswer } from '../../src/contract/result-answers.ts';
import { type FailureType, isRetryable } from '../../src/domain/failure.ts';
import { policySchema } from '../../src/domain/policy.ts';
import { answerJson, startApi } from './api-stub.ts';
import { command as runCommand } from './trawl.ts';

const SUMMARY = { pending: 0, queued: 0, in_progress: 0, success: 8, failed: 2, skipped: 0, cancelled: 0, total: 10 };

function jobOf(changes: Partial<JobAnswer> = {}): JobAnswer {
  return {
    ...{ job_id: 'j', job_name: null, status: 'completed', held: false, scraper_id: 's', scraper_version: '1.0.0' },
    ...{ labels: {}, created_at: '2026-11-16T00:00:00.000Z', started_at: null, finished_at: null },
    ...{ progress_pct: 100, summary: SUMMARY, reason: null, round: 1, elapsed_seconds: 5 },
    ...{ eta_seconds: null, items_per_second: null, fenced: 0, replaced_by: null, errors: [], warnings: [] },
    input: { scraper_id: 's', scraper_version: '1.0.0', items: 10, recording: null, extracts: null },
    progress: { completed: 10, success: 8, skipped: 0, failed: 2, cancelled: 0 },
    workers: { total: 10, completed: 10, in_flight: 0, limit: 3 },
    policy: policySchema.parse({}),
    breaker: { state: 'closed', since: null, probe_at: null, finished: 10, failed: 2, consecutive_failures: 0 },
    controls: null,
    discovery: null,
    results: { ready: true, scraper_versions: ['1.0.0'], parts: 1 },
    budget: { requests_left: null, bytes_left: null, proxy_bytes_left: null, cost_left: null },
    ...changes,
  } as JobAnswer;
}

/** What a group says about when and where it was seen. */
const UNSEEN = { id: '0123456789ab', url_pattern: null, first_at: null, last_at: null };

test('a paused job is over for a command that watches it, unless it may continue by itself or a user may resume it', () => {
  const breaker = (probe_at: string | null) => ({ ...jobOf().breaker, state: 'open' as const, probe_at });
  const paused = (code: NonNullable<JobAnswer['reason']>['code'], probe_at: string | null = null) =>
    isOver(jobOf({ status: 'paused', breaker: breaker(probe_at), reason: { code, message: 'm', evidence: [] } }));
  assert.deepEqual([paused('breaker'), paused('host'), paused('budget')], [true, true, true]);
  assert.deepEqual(
    [paused('breaker', '2026-11-16T00:00:00.000Z'), paused('storage'), paused('user')],
    [false, false, false],
  );
});

test('a job of a recording shows what each step took, where items failed, and which selector has stopped matching', () => {
  const message =
    'step 4, click "Search": the first selector (#btnGo) matched nothing in 180 of 200 items; the second (text/Search) did';
  const quiet = { failures: 0, failures_pct: 0, failure_types: [], selectors: [], drift: null };
  const steps = [
    {
      ...{ ...quiet, step: '1', description: 'goto https://county.test/', items: 200, times: 200 },
      duration_ms: { mean: 400, p50: 340, p90: 1200, max: 3000 },
    },
    {
      ...{ step: '4', description: 'click "Search"', items: 200, times: 200, duration_ms: null, drift: message },
      ...{ failures: 97, failures_pct: 97, failure_types: [{ type: 'structure_changed' as const, count: 97 }] },
      selectors: [],
    },
  ];
  const warnings = [{ path: 'steps.4', code: 'selector_drift' as const, message }];
  const text = jobText(jobOf({ steps: { steps, failures_elsewhere: 3 }, warnings }));
  assert.match(
    text,
    /^ {2}warning {3}step 4, click "Search": the first selector \(#btnGo\) matched nothing in 180 of 200/m,
  );
  assert.match(text, /^Steps:$/m);
  assert.match(text, /^ {2}1\. goto https:\/\/county\.test\/: 200 items, median 340 ms, 90 % within 1\.2 s$/m);
  assert.match(
    text,
    /^ {2}4\. click "Search": 200 items; 97 % of failures \(97 structure_changed\); DRIFT: see the warning$/m,
  );
  assert.match(text, /^ {2}3 items failed, but not at a step$/m);
  assert.match(jobEndText(jobOf({ steps: null, warnings })), /^Warnings:\n {2}step 4, click "Search": the first/m);
  assert.doesNotMatch(jobText(jobOf({ steps: null })), /Steps:/);
});

test('the exit code tells a shell what became of a job', () => {
  assert.equal(exitCodeOfJob(jobOf({ summary: { ...SUMMARY, failed: 0 } })), EXIT.done);
  assert.equal(exitCodeOfJob(jobOf()), EXIT.someItemsFailed);
  for (const status of ['failed', 'paused', 'cancelled'] as const) {
    assert.equal(exitCodeOfJob(jobOf({ status })), EXIT.failed);
  }
});

test('a job with control items says what they returned, and when the next is due', () => {
  const last = { result: 'good', message: 'x', at: '2026-11-16T00:00:00.000Z' } as const;
  const controls = {
    tried: 3,
    good: 2,
    last,
    last_good_at: last.at,
    next_after_items: 120,
    is_out: false,
    reopens: false,
  };
  assert.match(
    jobText(jobOf({ controls })),
    /3 tried, 2 good, last good at 2026-11-16T00:00:00\.000Z; next within 120 items/,
  );
  const bad = { ...controls, reopens: true };
  assert.match(jobText(jobOf({ controls: bad })), /items not found since the last good one are reopened on resume/);
});

test('a running job shows what it has used, and what it will use in all', () => {
  const usage = {
    requests: 1200,
    bytes_up: 2 ** 20,
    bytes_down: 33 * 2 ** 20,
    proxy_bytes: 0,
    refused: 0,
    blocked: 0,
    by: [],
  };
  const forecast = {
    ...{ items_per_second: 2, eta_seconds: 800, eta_low_seconds: 720, eta_high_seconds: 900, failure_rate: 0.2 },
    ...{ requests_expected: 2000, bytes_expected: 57 * 2 ** 20, cost_expected: 2.0123 },
  };
  const text = (changes: Partial<JobAnswer>) => jobText(jobOf({ status: 'in_progress', forecast, ...changes }));
  const running = text({ items_per_second: 2, usage: { ...usage, cost: 1.2 } });
  assert.match(running, /\n {2}rate {6}2\/s, ETA 12–15 min, 5 s so far\n/);
  assert.match(
    running,
    /\n {2}traffic {3}1,200 requests, 34 MiB, cost 1\.2; expected in all 2,000, 57 MiB, cost 2\.01\n/,
  );
  const over = text({ usage: { ...usage, cost: null }, finished_at: '2026-11-16T00:00:00.000Z' });
  assert.match(over, /\n {2}traffic {3}1,200 requests, 34 MiB\n/);
  assert.doesNotMatch(text({ usage: { ...usage, requests: 0, cost: 0 } }), /traffic/);
});

test('what a scraper found is shown, and how much of it was not added and why', () => {
  const discovery = { found: 7, added: 1, duplicates: 2, conflicts: 0, too_deep: 0, over_limit: 4, invalid: 0 };
  assert.match(
    jobText(jobOf({ discovery })),
    /\n {2}found {5}1 item added; not added: 2 duplicates, 4 beyond discovery\.max_items\n/,
  );
  assert.match(jobEndText(jobOf({ discovery })), /\n {2}found: 1 item added; not added: 2 duplicates/);
  assert.doesNotMatch(jobText(jobOf({ discovery: null })), /found/);
});

test('the status of a job is shown with what to type next, for each of its states', () => {
  const steps = (changes: Partial<JobAnswer>) =>
    [...jobText(jobOf(changes)).matchAll(/trawl jobs (\w+)/g)].map(([, step]) => step);
  assert.deepEqual(steps({}), ['retry', 'export']);
  assert.deepEqual(steps({ status: 'pending', held: true, summary: { ...SUMMARY, failed: 0 } }), ['start']);
  assert.deepEqual(steps({ status: 'paused' }), ['resume', 'retry']);
  assert.deepEqual(steps({ status: 'cancelled' }), []);
  assert.match(jobText(jobOf({ status: 'pending', held: true })), /^Job j: held\n/);
});

test('a retry is recommended only where it may help, and for other failures what to do instead is said', () => {
  const group = (type: FailureType, count: number) => ({
    ...{ type, count, pattern: 'p', page: null, examples: [], ...UNSEEN },
    retryable: isRetryable(type),
  });
  const text = (...errors: ReturnType<typeof group>[]) => jobText(jobOf({ errors }));
  assert.doesNotMatch(text(group('not_found', 1), group('no_results', 1)), /trawl jobs retry/);
  assert.match(
    text(group('not_found', 1), group('no_results', 1)),
    /help these:\n {2}not_found, no_results: the site has/,
  );
  assert.match(text(group('invalid_input', 2)), /\n {2}invalid_input: correct the input in the list/);
  assert.match(text(group('not_found', 1), group('blocked', 1)), /not_found: the site .*trawl jobs retry j\n/s);
  // Two failed, and the type of the second is not among the most frequent.
  assert.match(text(group('not_found', 1)), /trawl jobs retry j\n/);
  assert.match(text(group('proxy_config', 2)), /trawl jobs retry j\n/);
  assert.doesNotMatch(text(group('timeout', 2)), /help these/);
  assert.match(text(group('structure_changed', 2)), /Once the scraper is repaired:\n {2}trawl extract j\n/);
  // A recording needs its site: stored pages are of no use to it.
  const steps = { steps: [], failures_elsewhere: 0 };
  const recorded = jobText(jobOf({ status: 'completed', errors: [group('structure_changed', 2)], steps }));
  assert.match(recorded, /structure_changed: the page is not as expected: repair the recording, then scrape these/);
  assert.doesNotMatch(recorded, /trawl extract|parse the stored pages/);
  assert.doesNotMatch(jobEndText(jobOf({ errors: [group('poison', 2)] })), /trawl jobs retry/);
});

test('a job that is being deleted is shown as such, and there is nothing to type next', () => {
  const text = jobText(jobOf({ status: 'paused', removing: true }));
  assert.match(stripVTControlCharacters(text), /^Job j: paused, being deleted\n/);
  assert.doesNotMatch(text, /trawl jobs/);
  assert.match(deletedText('j', false), /^Job j and its results are deleted/);
  assert.match(deletedText('j', true), /^Job j is being deleted\. Its id can be reused once/);
});

test('nothing that a server sends can control the terminal', () => {
  const evil = '\x1b]0;owned\x07\u202e';
  const examples = [{ item_id: evil, message: evil, page: evil }];
  const seen = { ...UNSEEN, id: evil, url_pattern: evil };
  const group = { type: evil as 'blocked', pattern: evil, page: null, count: 1, retryable: true, examples, ...seen };
  const job = jobOf({
    ...{ job_id: evil, job_name: evil, scraper_id: evil, labels: { [evil]: evil } },
    status: evil as 'failed',
    errors: [group],
    reason: { code: 'breaker', message: evil, evidence: [group] },
  });
  for (const text of [jobText(job), jobEndText(job), tableText([{ name: 'A' }], [[evil]], {})]) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there.
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  }
  assert.equal(printable('a\u2066b\u2028c'), 'a b c');
});

const COLUMNS: readonly Column[] = [
  { name: 'ITEM' },
  { name: 'STATUS', style: statusStyle },
  { name: 'N', isNumber: true },
  { name: 'MESSAGE', isFlexible: true },
];
const ROWS = [
  ['200-1', 'failed', '7', 'something long that has no room'],
  ['3', 'success', '1,000', ''],
];

test('in a pipe a table is aligned, whole and plain', () => {
  assert.equal(
    tableText(COLUMNS, ROWS, {}),
    [
      'ITEM   STATUS       N  MESSAGE',
      '200-1  failed       7  something long that has no room',
      '3      success  1,000  -',
      '',
    ].join('\n'),
  );
  assert.equal(tableText([{ name: 'A' }], [['b']], {}, { hasHead: false }), 'b\n');
});

test('a table is no wider than its terminal, and drops what can be left out', () => {
  const shown = tableText(COLUMNS, ROWS, { isTTY: true, columns: 40, hasColors: () => false });
  assert.match(shown, /200-1 {2}failed {7}7 {2}something long …\n/);
  assert.ok(shown.split('\n').every((line) => line.length < 40));
  // A terminal that does not report its width has 80 columns.
  assert.ok(tableText(COLUMNS, [['1', '2', '3', 'x'.repeat(200)]], { isTTY: true, columns: 0 }).length < 2 * 80);
});

test('statuses have colours where the terminal has them, and the colours do not change the layout', () => {
  const colours = { isTTY: true, columns: 100, hasColors: () => true };
  const coloured = tableText(COLUMNS, ROWS, colours);
  assert.ok(coloured.includes('\x1b[31mfailed '), coloured);
  const plain = tableText(COLUMNS, ROWS, { ...colours, hasColors: () => false });
  const trimmed = (text: string) => text.split('\n').map((line) => line.trimEnd());
  assert.deepEqual(trimmed(stripVTControlCharacters(coloured)), trimmed(plain));
});

test('labels are key=value, whatever the key', () => {
  assert.deepEqual(Object.entries(keyValues('--label', ['a=b=c', '__proto__=x', 'e='])), [
    ['a', 'b=c'],
    ['__proto__', 'x'],
    ['e', ''],
  ]);
  assert.throws(() => keyValues('--label', ['=x']), /--label =x: must be key=value/);
});

test('short times are shown in milliseconds', () => {
  assert.deepEqual([0.4, 12.6, 999.4, 999.6, 61_000].map(formatTook), ['0 ms', '13 ms', '999 ms', '1 s', '1 min 1 s']);
});

test('a command that is suggested goes to the server that was named, if one was', () => {
  const url = 'http://10.0.0.5:8080';
  for (const typed of [
    ['--url', url],
    [`--url=${url}`, '--json'],
  ]) {
    assert.equal(command(['jobs', 'watch', 'j'], ['jobs', 'create', 'x', ...typed]), `trawl jobs watch j --url ${url}`);
  }
  assert.equal(command(['jobs', 'watch', 'j'], ['jobs', 'status', 'j']), 'trawl jobs watch j');
});

test('results that are not final are shown with the status of the job', () => {
  const told = (status: ResultsAnswer['status'], final = false) =>
    resultsText({ job_id: 'j', status, final, filter: 'all', summary: SUMMARY, parts: [] }).split('\n')[0];
  assert.match(told('in_progress') ?? '', /10 items, what is final so far: the job is running\.$/);
  assert.match(told('failed') ?? '', /so far: the job failed and can be resumed\.$/);
  assert.match(told('paused') ?? '', /so far: the job is paused\.$/);
  assert.match(told('completed') ?? '', /so far: the job is over and its index is being written\.$/);
  assert.match(told('completed', true) ?? '', /10 items, final\.$/);
});

test('items that were named and not reopened are counted', () => {
  const answer = { job_id: 'j', status: 'in_progress', preview: false, items: 1 } as const;
  const watch = 'To watch it:\n  trawl jobs watch j';
  assert.equal(retriedText(answer, 0), `1 item reopened. ${watch}`);
  assert.equal(retriedText(answer, 1), `1 item reopened. ${watch}`);
  assert.equal(
    retriedText(answer, 3),
    `1 item reopened. 2 of the given ids are not failed items of this job. ${watch}`,
  );
  const none = { ...answer, items: 0 };
  assert.equal(retriedText(none, 1), 'No items reopened: 1 of the given ids is not a failed item of this job.');
  assert.equal(retriedText(none, 0), 'No items reopened: no failed item matches.');
});

test('an item is shown with each of its failed tries and the wait after it', async () => {
  const attempt = { attempt: 1, delivery: 1, tries: 2, started_at: '2026-01-01T00:00:00.000Z', duration_ms: 41_000 };
  const error = { type: 'navigation_failed', message: 'back at the start', retryable: true, cause: null };
  const failedTries = [
    { try: 1, error_type: 'navigation_failed', message: 'back at the start', failed_at: 'T1', wait_ms: 40_000 },
    { try: 2, error_type: 'rate_limited', message: 'HTTP 429', failed_at: 'T2', wait_ms: null },
  ];
  const { url } = await startApi((_, response) =>
    answerJson(response, {
      ...{ item_id: 'a', job_id: 'j', status: 'failed', input: {}, error, attempts: 1, tries: 2, artifacts: [] },
      ...{ scraper_id: 's', scraper_version: '1', deliveries: 1, strikes: 0 },
      history: [{ ...attempt, status: 'failed', error, failed_tries: failedTries, scraper_version: '1' }],
    }),
  );
  const { stdout } = await runCommand(['jobs', 'items', 'j', 'a', '--url', url]);
  const [, tries] = stdout.split(/(?=^ATTEMPT {2}TRY )/m);
  assert.deepEqual(tries?.trimEnd().split('\n'), [
    'ATTEMPT  TRY  FAILED  WAIT  ERROR',
    '      1    1  T1      40 s  navigation_failed: back at the start',
    '      1    2  T2      none  rate_limited: HTTP 429',
  ]);
});

test('groups that differ only in the layout of the page say so, and others do not', () => {
  const group = (page: string | null, pattern = 'no owner') => ({
    ...{ type: 'structure_changed' as const, pattern, page, count: 2, retryable: false, ...UNSEEN },
    examples: [],
  });
  const lines = jobText(
    jobOf({ errors: [group('0123456789ab'), group('ba9876543210'), group(null), group('0', 'no tax')] }),
  )
    .split('\n')
    .filter((line) => line.includes('2  structure_changed'));
  assert.deepEqual(
    lines.map((line) => line.trim()),
    [
      '2  structure_changed: no owner [page layout 0123456789ab]',
      '2  structure_changed: no owner [page layout ba9876543210]',
      '2  structure_changed: no owner [no page]',
      '2  structure_changed: no tax',
    ],
  );
});

test('a bulk job is shown with its pages, assets and batches', () => {
  const bulk = {
    ...jobOf(),
    input: { total_urls: 1000, to_scrape: 950, assets: 50, unknown: 0, sites: ['a', 'b'] },
    progress: { completed: 12, success: 12, skipped: 0, failed: 0 },
    workers: { total: 100, completed: 1 },
    errors: [{ path: '/a', error: 'Empty content' }],
    failures: [],
  };
  const text = stripVTControlCharacters(jobText(bulk));
  assert.match(text, /urls +1,000: 950 pages of 2 sites, 50 assets, 0 unknown/);
  assert.match(text, /workers +1 of 100 batches completed/);
});
