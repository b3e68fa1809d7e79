import fc from 'fast-check';
import { naughtyJson, naughtyText, naughtyValue } from './naughty.ts';

/** A request as it goes over the wire, and what is to happen to it on the way. */
export interface HostileRequest {
  readonly operation: string;
  readonly method: string;
  /** As written, percent-encoded or not. */
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array | null;
  /** `whole`: it is sent and answered. `cut`: the sender hangs up in the middle of the body. */
  readonly sent: 'whole' | 'cut';
}

export interface DescribedOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  readonly bodyTypes: readonly string[];
}

/** Ids of jobs and scrape runs that requests aim at. */
export interface Targets {
  readonly jobs: readonly string[];
  readonly runs: readonly string[];
}

export function hostileRequest(operation: DescribedOperation, targets: Targets): fc.Arbitrary<HostileRequest> {
  return fc
    .record({
      params: fc.record({
        ...{ job_id: idIn(targets.jobs), plan_id: idIn(targets.jobs), item_id: itemId, scraper_id: scraperId, host },
        ...{ site_id: siteId, run_id: idIn(targets.runs) },
      }),
      query: queryOf(operation),
      encoded: fc.constantFrom(...ENCODINGS),
      body: bodyOf(operation, targets),
      headers: fc.oneof(
        { weight: 2, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(header, { maxLength: 2 }) },
      ),
      method: fc.oneof(
        { weight: 30, arbitrary: fc.constant(operation.method) },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      sent: fc.oneof(
        { weight: 20, arbitrary: fc.constant('whole' as const) },
        { weight: 1, arbitrary: fc.constant('cut' as const) },
      ),
    })
    .map(({ params, query, encoded, body, headers, method, sent }) => {
      const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: keyof typeof params) => encoded(params[name]));
      const search = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
      return {
        operation: operation.id,
        method,
        path: search === '' ? path : `${path}?${search}`,
        headers: [...(body === null ? [] : ([['content-type', body.type]] as const)), ...headers],
        body: body === null ? null : Buffer.from(body.text),
        sent: body === null ? 'whole' : sent,
      };
    });
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE'];

/** What cannot be in a request line at all is percent-encoded; the rest is as it is, or encoded, or encoded twice. */
const ENCODINGS: readonly ((text: string) => string)[] = [
  percent,
  percent,
  percent,
  (text) => percent(percent(text)),
  (text) => text.replaceAll(/[^\x21-\x7e]|[#?&/]/g, percent),
];

function percent(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function idIn(ids: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: naughtyText });
}

const itemId = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('item-0', 'item-1', 'item-7') },
  { weight: 1, arbitrary: naughtyText },
);
const host = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.constantFrom('county.gov', 'county.gov:8080', '[::1]:81', 'B\u00fccher.example', '127.1'),
  },
  { weight: 1, arbitrary: naughtyText },
);
const siteId = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('docs', 'nodejs') },
  { weight: 1, arbitrary: naughtyText },
);
const scraperId = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('example-noop', 'example-slow', 'example-fail', 'recorded') },
  { weight: 1, arbitrary: naughtyText },
);

/** There are few ids, so that versions collide. */
const recording = {
  id: fc.oneof(fc.constantFrom('recorded', 'example-noop'), naughtyText),
  version: fc.constantFrom('1', '2'),
  hosts: fc.oneof(fc.constant(['county.test']), naughtyValue),
  description: naughtyText,
  steps: fc.oneof(
    fc.constant([{ type: 'goto', url: 'https://county.test/{{input.apn}}' }]),
    fc.array(fc.record({ type: fc.constantFrom('goto', 'click', 'if', 'x'), url: naughtyValue, then: naughtyValue }), {
      maxLength: 3,
    }),
    naughtyValue,
  ),
};

const GOOD_VALUES: Readonly<Record<string, readonly string[]>> = {
  status: ['failed', 'success', 'pending', 'in_progress', 'completed', 'paused', 'cancelled'],
  error_type: ['timeout', 'server_error', 'poison'],
  limit: ['1', '100', '1000', '0', '-5', '1e3', '99999999999'],
  filter: ['all', 'success', 'errors'],
  format: ['jsonl', 'csv', 'parquet'],
  part: ['0', '1', '999999'],
  // None of them is reached: hostile requests ask for nothing on another machine.
  url: ['http://127.0.0.1:1/', '10.0.0.1/x?y', 'http://[::1]/'],
  artifact: ['html', 'data', 'metadata', 'screenshot', 'document'],
};

/** Mostly known parameters, once each, with plausible values: a request that is all wrong is refused at once. */
function queryOf({ query }: DescribedOperation): fc.Arbitrary<(readonly [string, string])[]> {
  const known = query.map((name) => {
    const good = Object.hasOwn(GOOD_VALUES, name) ? (GOOD_VALUES[name] ?? []) : ['1'];
    const value = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: naughtyText });
    return fc.option(
      value.map((text) => [name, text] as const),
      { freq: 1, nil: null },
    );
  });
  const odd = fc.option(fc.tuple(fc.constantFrom('unknown', '__proto__', 'limit', 'cursor'), naughtyText), {
    freq: 1,
    nil: null,
  });
  const rarely = fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: odd });
  return fc.tuple(...known, rarely).map((pairs) => pairs.filter((pair) => pair !== null));
}

const header = fc.constantFrom<(readonly [string, string])[]>(
  ['range', 'bytes=0-0'],
  ['range', 'bytes=-1'],
  ['range', 'bytes=5-1,9-'],
  ['range', 'bytes=99999999999999999999-'],
  ['if-none-match', '*'],
  ['if-range', '"x"'],
  ['last-event-id', '1'],
  ['last-event-id', '..-1'],
  ['idempotency-key', 'k'],
  ['idempotency-key', 'x'.repeat(300)],
  ['origin', 'http://evil.example'],
  ['origin', 'null'],
  ['sec-fetch-site', 'cross-site'],
  ['authorization', 'Bearer ../..'],
  ['x-api-key', 'nobody'],
  ['content-type', 'text/plain'],
  ['content-type', 'application/json; charset=utf-16'],
  ['accept', 'application/xml'],
  ['content-encoding', 'gzip'],
  ['transfer-encoding', 'chunked'],
  ['expect', '100-continue'],
  ['x-forwarded-host', 'evil.example'],
  ['cookie', `a=${'b'.repeat(4000)}`],
);

interface Body {
  readonly type: string;
  readonly text: string;
}

/** Mostly a document that is nearly right: one that is all wrong is refused at once. */
function bodyOf({ id, bodyTypes }: DescribedOperation, targets: Targets): fc.Arbitrary<Body | null> {
  const type = fc.oneof(
    { weight: 10, arbitrary: bodyTypes.length === 0 ? fc.constant('application/json') : fc.constantFrom(...bodyTypes) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'application/json',
        'text/csv',
        'application/x-ndjson',
        'multipart/form-data',
        'text/html',
        '',
      ),
    },
  );
  const text = fc.oneof({ weight: 3, arbitrary: nearlyRight(id, targets) }, { weight: 1, arbitrary: naughtyJson });
  const some = fc.record({ type, text });
  return bodyTypes.length === 0
    ? fc.option(some, { freq: 10, nil: null }).map((body) => (body === null || body.text.length > 3 ? null : body))
    : fc.option(some, { freq: 9, nil: null });
}

function nearlyRight(id: string, targets: Targets): fc.Arbitrary<string> {
  switch (id) {
    case 'createJob':
      return fc.oneof(
        goodJob,
        spoiled({
          recording: fc.oneof(fc.record(recording), naughtyValue),
          hold: fc.constant(true),
        }),
        spoiled({
          job_id: fc.oneof(fc.constantFrom(...targets.jobs), naughtyText),
          job_name: naughtyText,
          scraper_id: scraperId,
          items: fc.array(
            fc.record({ item_id: naughtyText, input: fc.dictionary(naughtyText, naughtyValue, { maxKeys: 3 }) }),
            { maxLength: 5 },
          ),
          execution_policy: policy,
          labels: fc.dictionary(naughtyText, naughtyText, { maxKeys: 3 }),
          // Jobs of this test must not pile up work.
          hold: fc.constant(true),
        }),
      );
    case 'changeJob':
      return spoiled({ execution_policy: policy });
    case 'addScraper':
      return spoiled(recording);
    case 'retryJob':
      return spoiled({
        status: fc.constantFrom('failed', 'success', 'x'),
        error_type: fc.constantFrom('timeout', 'server_error', 'x'),
        item_ids: fc.array(itemId, { maxLength: 5 }),
        preview: fc.boolean(),
      });
    case 'extractJob':
      return spoiled({
        job_id: naughtyText,
        scraper_id: scraperId,
        max_concurrent_workers: fc.integer(),
        labels: naughtyValue,
      });
    case 'setSite':
      return spoiled({
        baseUrl: fc.oneof(
          fc.constantFrom('https://docs.example', 'HTTP://[::1]:81/a//b/', 'docs.example/x'),
          naughtyText,
        ),
        name: naughtyText,
        mode: fc.constantFrom('fetch', 'browser', 'auto', 'x'),
        defaultPath: naughtyText,
        links: fc.record({ startUrls: fc.array(naughtyText), maxDepth: naughtyValue }, { requiredKeys: [] }),
        content: fc.record({ method: fc.constantFrom('inner_html', 'click_copy'), selector: naughtyText }),
      });
    case 'createScrapeRun':
      return spoiled({
        domain: fc.oneof(fc.constant('example.com'), naughtyText),
        source: naughtyText,
        metadata: fc.record({ started_at: runTime }),
        items: fc.array(fc.record({ url: runUrl }), { maxLength: 5 }),
      });
    case 'addScrapeRunItems':
      return spoiled({ items: fc.array(fc.record({ url: runUrl }), { maxLength: 5 }) });
    case 'changeScrapeRun':
      return fc.oneof(
        spoiled({ updateItem: runUpdate }),
        spoiled({ updateItems: fc.array(runUpdate, { maxLength: 5 }) }),
        spoiled({ status: fc.constantFrom('finished', 'failed', 'processing', 'x'), endTime: runTime }),
        spoiled({ finalize: fc.constant(true), metadata: fc.record({ finished_count: naughtyValue }) }),
      );
    case 'addItems':
      return fc
        .array(itemLine, { maxLength: 12 })
        .chain((lines) =>
          fc.constantFrom(
            lines.join('\n'),
            `[${lines.join(',')}]`,
            `item_id,apn\n${lines.join('\n')}`,
            `[${lines.join(',')}`,
            lines.join('\r\n'),
          ),
        );
    default:
      return spoiled({});
  }
}

const runUrl = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('https://example.com/1', 'https://example.com/2', 'HTTP://b\u00fccher.example/\u2028'),
  },
  { weight: 1, arbitrary: naughtyText },
  { weight: 1, arbitrary: naughtyText.map((text) => `https://example.com/${text}`) },
);
const runTime = fc.constantFrom(
  '2026-11-18T08:00:00Z',
  '0000-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59-14:00',
  'now',
);
const runUpdate = fc.record({
  url: runUrl,
  changes: fc.record(
    { done: fc.boolean(), failed: fc.boolean(), invalid: naughtyValue, failedReason: naughtyText },
    { requiredKeys: [] },
  ),
});

/** A job that is created, whatever it is called. */
const goodJob = fc
  .record({
    job_name: naughtyText,
    items: fc.array(fc.record({ input: fc.record({ ms: fc.constant(1), note: naughtyText }) }), { maxLength: 3 }),
    labels: fc.dictionary(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), { maxKeys: 3 }),
  })
  .map((job) => JSON.stringify({ ...job, scraper_id: 'example-slow', hold: true }));

const itemLine = fc.oneof(
  fc.record({ item_id: fc.oneof(itemId, naughtyValue), input: naughtyValue }).map((item) => JSON.stringify(item)),
  naughtyValue.map((value) => JSON.stringify(value) ?? 'null'),
  naughtyText,
  naughtyJson,
);

const policy = fc.oneof(
  fc.record(
    {
      throttling: fc.record(
        { max_concurrent_workers: naughtyValue, max_requests_per_second: naughtyValue },
        { requiredKeys: [] },
      ),
      retries: fc.record({ max_retries: fc.integer({ min: -1, max: 25 }) }, { requiredKeys: [] }),
      timeouts: fc.record({ item_timeout_seconds: fc.double({ noNaN: true }) }, { requiredKeys: [] }),
      circuit_breaker: fc.record(
        { min_requests: fc.integer(), failure_threshold_percentage: fc.double() },
        { requiredKeys: [] },
      ),
      proxy: fc.record({ type: fc.constantFrom('none', 'datacenter', 'x') }, { requiredKeys: [] }),
      robots: fc.constantFrom('respect', 'ignore', ''),
    },
    { requiredKeys: [] },
  ),
  naughtyValue,
);

/** Some of the fields, and now and then one that is something else or does not exist. */
function spoiled(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.record(fields, { requiredKeys: 'scraper_id' in fields && 'items' in fields ? ['scraper_id', 'hold'] : [] }),
      fc.option(
        fc.tuple(fc.constantFrom(...Object.keys(fields), 'unknown', '__proto__', 'constructor'), naughtyValue),
        { freq: 3, nil: null },
      ),
    )
    .map(([document, change]) => {
      if (change === null) return JSON.stringify(document);
      // It is written as text: an assignment to __proto__ would not be sent.
      const rest = JSON.stringify(document);
      const field = `${JSON.stringify(change[0])}:${JSON.stringify(change[1]) ?? 'null'}`;
      return rest === '{}' ? `{${field}}` : `${rest.slice(0, -1)},${field}}`;
    });
}
