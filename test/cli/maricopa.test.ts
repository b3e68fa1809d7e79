import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { FailureType } from '../../src/domain/failure.ts';
import { type Behaviour, type MaricopaServer, parcelOf, startMaricopa } from '../models/maricopa-server.ts';
import { CHEAP } from './trawl.ts';

/**
 * `trawl run maricopa-az` against a server that behaves like the treasurer's: everything that such a site can do to an
 * item, one parcel each, and what the user learns about it.
 */
const BIN = fileURLToPath(new URL('../../bin/trawl', import.meta.url));

interface Expected {
  readonly behaviour: Behaviour;
  readonly outcome: 'success' | FailureType;
  readonly says?: RegExp;
  /** Visits to the parcel's link: two where it is worth another try, one where it is not. */
  readonly visits?: number;
  /**
   * A try may repeat a request by itself, and an item that meets a site in trouble may go back uncharged: how often
   * depends on what the other items met before. `visits` is then the minimum.
   */
  readonly mayRepeat?: true;
}

const CASES: Readonly<Record<string, Expected>> = {
  '200-14-030': { behaviour: 'good', outcome: 'success', visits: 1 },
  '503-51-079A': { behaviour: 'good', outcome: 'success', visits: 1 },
  '100-01-001': { behaviour: 'list layout', outcome: 'success' },
  '100-01-002': { behaviour: 'shows the search form first', outcome: 'success' },
  '100-01-003': { behaviour: 'view state stale once', outcome: 'success', visits: 2 },
  '100-01-004': { behaviour: 'view state always stale', outcome: 'navigation_failed', says: /view state/, visits: 2 },
  '100-01-005': { behaviour: 'another parcel', outcome: 'navigation_failed', says: /999-?99-?999/, visits: 2 },
  '100-01-006': { behaviour: 'nothing found', outcome: 'no_results', says: /No records found/, visits: 1 },
  '100-01-007': { behaviour: 'block page behind 200', outcome: 'blocked', says: /Incapsula|Imperva/, visits: 2 },
  '100-01-008': { behaviour: 'challenge 403', outcome: 'blocked', says: /Cloudflare/, visits: 2 },
  '100-01-009': { behaviour: 'maintenance behind 200', outcome: 'maintenance', visits: 2, mayRepeat: true },
  '100-01-010': { behaviour: 'maintenance 503', outcome: 'maintenance', visits: 2, mayRepeat: true },
  '100-01-011': { behaviour: 'rate limited 429', outcome: 'rate_limited', visits: 2, mayRepeat: true },
  '100-01-012': { behaviour: 'overloaded 503 with Retry-After', outcome: 'rate_limited', visits: 2, mayRepeat: true },
  '100-01-013': { behaviour: 'server error 500', outcome: 'server_error', says: /500/, visits: 2, mayRepeat: true },
  '100-01-014': { behaviour: 'never answers', outcome: 'timeout', visits: 2 },
  '100-01-015': { behaviour: 'resets the connection', outcome: 'network_error' },
  '100-01-016': { behaviour: 'page is gone', outcome: 'not_found', says: /410/, visits: 1 },
  '100-01-017': { behaviour: 'ids renamed', outcome: 'structure_changed', says: /lblNameAddress/, visits: 1 },
  '100-01-018': { behaviour: 'impossible tax year', outcome: 'invalid_output', says: /tax_year/, visits: 1 },
  '100-01-019': { behaviour: 'endless page', outcome: 'too_large', visits: 1 },
  '100-01-020': {
    behaviour: 'redirects to the metadata service',
    outcome: 'refused_address',
    says: /169\.254\.169\.254/,
  },
  '100-01-021': { behaviour: 'redirects to another site', outcome: 'refused_address', says: /login\.example\.com/ },
};

/** Two tries, no waiting between them, and a breaker that lets us see all of it. */
const POLICY = {
  throttling: { max_concurrent_workers: 8, adaptive: false },
  retries: { max_retries: 1, backoff_factor: 0, max_backoff_seconds: 0 },
  circuit_breaker: { min_requests: 1000, consecutive_failures: 1000 },
};

/**
 * The silent parcel has a run of its own, beside the other: only there is a short timeout harmless. On a busy machine
 * the good pages would exceed it, too.
 */
const isSilent = (apn: string) => CASES[apn]?.behaviour === 'never answers';
const RUNS = {
  out: { apns: Object.keys(CASES).filter((apn) => !isSilent(apn)), timeoutSeconds: 60 },
  silent: { apns: Object.keys(CASES).filter(isSilent), timeoutSeconds: 2 },
};

/** The scraper asks for dashes. */
const UNDASHED = '20014030';

interface Ended {
  readonly exitCode: number | null;
  readonly stderr: string;
}

interface Row {
  readonly item_id: string;
  readonly status: string;
  readonly error: { readonly type: string; readonly message: string } | null;
  readonly data: Record<string, unknown> | null;
}

describe('trawl run maricopa-az', () => {
  const dir = mkdtempSync(join(tmpdir(), 'trawl-maricopa-'));
  let server: MaricopaServer;
  let exitCode: number | null = null;
  let stderr = '';
  let rows: ReadonlyMap<string, Row> = new Map();

  before(async () => {
    server = await startMaricopa(
      Object.fromEntries(Object.entries(CASES).map(([apn, { behaviour }]) => [apn, behaviour])),
    );
    const [ended] = await Promise.all([run('out'), run('silent')]);
    ({ exitCode, stderr } = ended);
    const lines = Object.keys(RUNS).flatMap((out) =>
      readFileSync(join(dir, out, 'results.jsonl'), 'utf8')
        .trim()
        .split('\n'),
    );
    rows = new Map(lines.map((line): [string, Row] => [JSON.parse(line).item_id, JSON.parse(line)]));
    assert.equal(rows.size, lines.length, 'an item stands twice in the results');
  });
  after(async () => {
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  });

  function run(out: keyof typeof RUNS): Promise<Ended> {
    const { apns, timeoutSeconds } = RUNS[out];
    const [items, policy] = [`${out}.csv`, `${out}.json`];
    writeFileSync(join(dir, items), `apn\n${[...apns, UNDASHED].join('\n')}\n`);
    const timeouts = { request_timeout_seconds: timeoutSeconds };
    writeFileSync(join(dir, policy), JSON.stringify({ ...POLICY, timeouts }));
    return trawl(['run', 'maricopa-az', '--items', items, '--out', out, '--policy', policy]);
  }

  function trawl(args: readonly string[]): Promise<Ended> {
    const env = {
      ...process.env,
      ...CHEAP,
      TRAWL_ALLOW_ADDRESSES: 'loopback',
      TRAWL_ROUTES: `https://treasurer.maricopa.gov=${server.url}`,
    };
    return new Promise((resolve) => {
      const child = execFile(BIN, args, { cwd: dir, env }, (_error, _stdout, stderr) => {
        resolve({ exitCode: child.exitCode, stderr });
      });
    });
  }

  for (const [apn, { behaviour, outcome, says, visits, mayRepeat }] of Object.entries(CASES)) {
    test(`${behaviour}, asked for ${apn}: ${outcome}`, () => {
      const row = rows.get(apn);
      assert.ok(row, 'there is no result');
      assert.equal(row.status === 'success' ? 'success' : row.error?.type, outcome, row.error?.message ?? 'no error');
      if (says) assert.match(row.error?.message ?? '', says);
      if (visits === undefined) return;
      const seen = server.visits(apn);
      if (!mayRepeat) return assert.equal(seen, visits);
      assert.ok(seen >= visits, `${seen} visits`);
    });
  }

  test('an input that the scraper refuses is reported with its line, and is not requested from the site', () => {
    assert.match(stderr, new RegExp(`line ${RUNS.out.apns.length + 2}\\b.*apn`));
    assert.equal(rows.has(UNDASHED), false);
    assert.equal(server.visits(UNDASHED), 0);
  });

  test('no parcel got the page of another, and the fields are what the page says', () => {
    const good = [...rows.values()].filter(({ status }) => status === 'success');
    assert.equal(good.length, 5);
    for (const { item_id, data } of good) {
      assert.equal(data?.['owner'], parcelOf(item_id).owner);
      assert.equal(data?.['total_tax'], Number(parcelOf(item_id).totalTax.replaceAll(/[$,]/g, '')));
    }
    const { owner, total_tax, ...data } = rows.get('200-14-030')?.data ?? {};
    assert.deepEqual(data, {
      apn: '200-14-030',
      tax_year: 2025,
      mailing_address: ['PO BOX 4711', 'PHOENIX AZ 85001'],
      situs_address: '1234 E CAMELBACK RD PHOENIX 85016',
      area_code: '011300',
      previous_total_tax: 1102.33,
      total_rate: 6.4218,
      market_value: 325_800,
      assessment_ratio_percent: 10,
      assessed_value: 32_580,
      previous_market_value: 312_400,
      limited_value: 198_450,
      tax_assessed: total_tax,
      tax_paid: 564.8,
      tax_due: 564.8,
      primary_districts: [
        {
          district: 'Maricopa County',
          rate_per_100: 1.1591,
          previous_year: 362.1,
          current_year: 377.63,
          change_percent: 4.29,
        },
        {
          district: 'City of Phoenix',
          rate_per_100: 1.2658,
          previous_year: 400.12,
          current_year: 412.4,
          change_percent: 3.07,
        },
      ],
      education_districts: [
        {
          district: 'Osborn Elementary #8',
          rate_per_100: 2.0412,
          previous_year: null,
          current_year: 210.2,
          change_percent: null,
        },
      ],
      secondary_districts: [
        {
          district: 'Central AZ Water',
          rate_per_100: 0.14,
          previous_year: 43.74,
          current_year: 38.62,
          change_percent: -11.7,
        },
      ],
      special_districts: [],
    });
  });

  test('some items failed, and the exit code says so', () => {
    assert.equal(exitCode, 1);
  });

  test('what is on the disk is complete', async () => {
    assert.equal((await trawl(['verify', 'out', '--data-dir', 'out'])).exitCode, 0);
  });
});
