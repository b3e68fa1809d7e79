import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import type { ItemDetailAnswer } from '../../../src/contract/item-answers.ts';
import type { ResultPartAnswer, ResultsAnswer } from '../../../src/contract/result-answers.ts';
import { aboveBackend } from './above-backend.ts';
import { type Client, noopItems, uniqueId } from './client.ts';
import { completedWithFailures } from './made-jobs.ts';

interface Row {
  readonly item_id: string;
  readonly status: string;
  readonly input: Record<string, unknown>;
  readonly error: { readonly type: string } | null;
  readonly data: Record<string, unknown> | null;
}

/** What a job collected: its parts, its exports and its artifacts. */
export function resultCases(client: Client): void {
  const above = aboveBackend(client);
  test('the results of a job that is over are in parts of a thousand, which are what their hashes say', async () => {
    const { job_id: jobId } = await client.run({ scraper_id: 'example-noop', items: noopItems(1001) });
    const results = await client.get<ResultsAnswer>(`/jobs/${jobId}/results`);
    assert.deepEqual([results.final, results.status, results.filter], [true, 'completed', 'all']);
    assert.deepEqual(
      results.parts.map(({ items }) => items),
      [1000, 1],
    );
    const ids: string[] = [];
    for (const { href, sha256, items } of results.parts) {
      const { text, json } = await client.ask('GET', href);
      const part = json as ResultPartAnswer;
      assert.equal(createHash('sha256').update(text).digest('hex'), sha256);
      assert.deepEqual([part.count, part.items.length], [items, items]);
      ids.push(...part.items.map(({ item_id: id }) => id));
    }
    assert.deepEqual(
      ids,
      noopItems(1001).map(({ item_id: id }) => id),
    );
    await client.refused(404, 'part_not_found', 'GET', `/jobs/${jobId}/results?part=2`);
    await client.refused(422, 'invalid_request', 'GET', `/jobs/${jobId}/results?part=-1`);
  });

  above('results are filtered by how items ended', async () => {
    const jobId = await completedWithFailures(client, { good: 3, no_results: 2 });
    const ids = async (filter: string) => {
      const results = await client.get<ResultsAnswer>(`/jobs/${jobId}/results?filter=${filter}`);
      const part = await client.get<ResultPartAnswer>(results.parts[0]?.href ?? '');
      return part.items.map(({ item_id: id }) => id);
    };
    assert.deepEqual(await ids('all'), ['i-0', 'i-1', 'i-2', 'no_results-0', 'no_results-1']);
    assert.deepEqual(await ids('success'), ['i-0', 'i-1', 'i-2']);
    assert.deepEqual(await ids('errors'), ['no_results-0', 'no_results-1']);
    await client.refused(422, 'invalid_request', 'GET', `/jobs/${jobId}/results?filter=failed`);
  });

  above('a job that is still running has results: those that are final so far', async () => {
    const slow = { item_id: 'slow', input: { ms: 3000 } };
    const items = [...noopItems(3).map(({ item_id }) => ({ item_id, input: { ms: 1 } })), slow];
    const { job_id: jobId } = await client.create({ scraper_id: 'example-slow', items });
    await client.until(jobId, ({ data }) => data.summary?.success === 3);
    const results = await client.get<ResultsAnswer>(`/jobs/${jobId}/results`);
    assert.deepEqual([results.final, results.status, results.parts.length], [false, 'in_progress', 1]);
    assert.deepEqual([results.parts[0]?.items, results.parts[0]?.sha256], [null, null]);
    const part = await client.get<ResultPartAnswer>(results.parts[0]?.href ?? '');
    assert.deepEqual(part.items.map(({ item_id: id }) => id).sort(), ['i-0', 'i-1', 'i-2']);
    const { text } = await client.ask('GET', `/jobs/${jobId}/export`);
    const rows = text.split('\n', 4).map((line) => (JSON.parse(line) as Row).status);
    assert.deepEqual(rows, ['success', 'success', 'success', 'in_progress']);
    await client.post(`/jobs/${jobId}/cancel`);
  });

  above('a job that has not begun has an empty first part', async () => {
    const { job_id: jobId } = await client.create({ scraper_id: 'example-noop', items: noopItems(3), hold: true });
    const part = await client.get<ResultPartAnswer>(`/jobs/${jobId}/results?part=0`);
    assert.deepEqual([part.count, part.items], [0, []]);
  });

  const FORMULA = '=HYPERLINK("http://evil.test","x")';
  const exported = async () => {
    const job_id = uniqueId('exported');
    const items = [
      { item_id: 'good', input: { data: { owner: FORMULA, tax: 12.5, paid: true, note: 'a "b"\r\nc' } } },
      { item_id: '@sum', input: { data: { owner: 'SMITH', tax: -3, paid: false, note: '' } } },
      { item_id: 'bad', input: { type: 'no_results' } },
    ];
    await client.run({ job_id, scraper_id: 'test-mixed', items });
    return job_id;
  };

  test('an export as lines of JSON has a row per item: input, status, error and data', async () => {
    const { headers, text } = await client.ask('GET', `/jobs/${await exported()}/export`);
    assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="exported-\d+\.jsonl"$/);
    const rows = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
    assert.deepEqual(
      rows.map(({ item_id: id, status, error, data }) => [id, status, error?.type ?? null, data?.['owner'] ?? null]),
      [
        ['good', 'success', null, FORMULA],
        ['@sum', 'success', null, 'SMITH'],
        ['bad', 'failed', 'no_results', null],
      ],
    );
    assert.deepEqual(rows[2]?.input, { type: 'no_results' });
  });

  above('an export as CSV has no cell that a spreadsheet would run', async () => {
    const { headers, text } = await client.ask('GET', `/jobs/${await exported()}/export?format=csv`);
    assert.match(headers.get('content-type') ?? '', /^text\/csv/);
    assert.match(headers.get('content-disposition') ?? '', /\.csv"$/);
    const rows: Record<string, string>[] = parse(text, { columns: true });
    assert.deepEqual(
      rows.map(({ item_id: id, status }) => [id, status]),
      [
        ['good', 'success'],
        ["'@sum", 'success'],
        ['bad', 'failed'],
      ],
    );
    const cells = rows.flatMap((row) => Object.values(row));
    assert.ok(cells.includes(`'${FORMULA}`));
    assert.ok(cells.includes('a "b"\r\nc'));
    const running = cells.filter((cell) => /^[=@+\t\r]|^-(?!\d+(\.\d+)?$)/.test(cell));
    assert.deepEqual(running, []);
  });

  above('an export as Parquet has the same rows, with types', async () => {
    const path = `${client.url}/jobs/${await exported()}/export?format=parquet`;
    const response = await fetch(path);
    assert.equal(response.headers.get('content-type'), 'application/vnd.apache.parquet');
    const rows = await parquetReadObjects({ file: await response.arrayBuffer() });
    assert.deepEqual(
      rows.map((row) => [row['item_id'], row['status'], row['tax'], row['paid']]),
      [
        ['good', 'success', 12.5, true],
        ['@sum', 'success', -3, false],
        ['bad', 'failed', null, null],
      ],
    );
  });

  above('an export has the rows that its filter names, and no others', async () => {
    const jobId = await exported();
    const ids = async (filter: string) => {
      const { text } = await client.ask('GET', `/jobs/${jobId}/export?filter=${filter}`);
      return text
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as Row).item_id);
    };
    assert.deepEqual(await ids('all'), ['good', '@sum', 'bad']);
    assert.deepEqual(await ids('success'), ['good', '@sum']);
    assert.deepEqual(await ids('errors'), ['bad']);
    await client.refused(422, 'invalid_request', 'GET', `/jobs/${jobId}/export?format=xlsx`);
  });

  above('child records of a list are rows of their own, and a field that is not a list is refused', async () => {
    const job_id = uniqueId('exploded');
    const items = [
      { item_id: 'two', input: { data: { owner: 'SMITH', bills: [{ year: 2024 }, { year: 2025 }] } } },
      { item_id: 'none', input: { data: { owner: 'JONES', bills: [] } } },
      { item_id: 'bad', input: { type: 'no_results' } },
    ];
    await client.run({ job_id, scraper_id: 'test-mixed', items });
    const path = `/jobs/${job_id}/export`;
    const { headers, text } = await client.ask('GET', `${path}?format=csv&explode=bills`);
    assert.match(headers.get('content-disposition') ?? '', /filename="exploded-\d+-bills\.csv"$/);
    const rows: Record<string, string>[] = parse(text, { columns: true });
    assert.deepEqual(
      rows.map((row) => [row['item_id'], row['index'], row['owner'], row['bills.year']]),
      [
        ['two', '0', 'SMITH', '2024'],
        ['two', '1', 'SMITH', '2025'],
      ],
    );
    const lines = (await client.ask('GET', `${path}?explode=bills`)).text.trimEnd().split('\n');
    assert.deepEqual(JSON.parse(lines[1] ?? '').data, { owner: 'SMITH', bills: { year: 2025 } });
    const parquet = await (await fetch(`${client.url}${path}?format=parquet`)).arrayBuffer();
    const [first] = await parquetReadObjects({ file: parquet });
    assert.deepEqual(first?.['bills'], [{ year: 2024 }, { year: 2025 }]);
    const { errors } = await client.refused(422, 'invalid_request', 'GET', `${path}?explode=owner`);
    assert.deepEqual(errors?.[0]?.message, 'owner is not a list (see item two). Lists in the data: bills');
  });

  above('a CSV begins with a byte order mark on request, and no other format does', async () => {
    const jobId = await exported();
    const begin = async (query: string) => {
      const response = await fetch(`${client.url}/jobs/${jobId}/export?format=csv${query}`);
      return Buffer.from(await response.arrayBuffer())
        .subarray(0, 5)
        .toString('hex');
    };
    assert.equal(await begin('&bom=true'), `efbbbf${Buffer.from('it').toString('hex')}`);
    assert.equal(await begin(''), Buffer.from('item_').toString('hex'));
    await client.refused(422, 'invalid_request', 'GET', `/jobs/${jobId}/export?bom=true`);
  });

  test('a row says where the files of its item are', async () => {
    const jobId = await exported();
    const { text } = await client.ask('GET', `/jobs/${jobId}/export?format=csv`);
    const rows: Record<string, string>[] = parse(text, { columns: true });
    assert.deepEqual(
      rows.map((row) => [row['html_path'], row['document_path']]),
      [
        [`${jobId}/items/good/html.html`, ''],
        [rows[1]?.['html_path'], ''],
        ['', ''],
      ],
    );
    assert.match(rows[1]?.['html_path'] ?? '', /^exported-\d+\/items\/sum~[0-9a-f]{32}\/html\.html$/);
  });

  const kept = async () => {
    const jobId = await completedWithFailures(client, { good: 1, no_results: 1 });
    const { artifacts } = await client.get<ItemDetailAnswer>(`/jobs/${jobId}/items/i-0`);
    const page = artifacts.find(({ kind }) => kind === 'html');
    assert.ok(page);
    return { jobId, page };
  };

  test('an artifact is served as a file of its type, which never runs here', async () => {
    const { page } = await kept();
    const { status, headers, text } = await client.ask('GET', page.href);
    assert.equal(status, 200);
    assert.equal(createHash('sha256').update(text).digest('hex'), page.sha256);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="/);
    assert.match(headers.get('content-security-policy') ?? '', /^sandbox;.*default-src 'none'/);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin');
    assert.equal(headers.get('etag'), `"${page.sha256}"`);
    assert.equal(headers.get('content-length'), String(page.size));
  });

  test('an artifact is served in ranges', async () => {
    const { page } = await kept();
    const { text: whole } = await client.ask('GET', page.href);
    for (const [range, from, to] of [
      ['bytes=0-3', 0, 4],
      ['bytes=4-', 4, whole.length],
      ['bytes=-5', whole.length - 5, whole.length],
      ['bytes=2-100000', 2, whole.length],
    ] as const) {
      const { status, headers, text } = await client.ask('GET', page.href, { headers: { range } });
      assert.deepEqual([status, text], [206, whole.slice(from, to)], range);
      assert.equal(headers.get('content-range'), `bytes ${from}-${to - 1}/${whole.length}`);
    }
    const beyond = { headers: { range: `bytes=${whole.length}-` } };
    await client.refused(416, 'range_not_satisfiable', 'GET', page.href, beyond);
    const stale = { headers: { range: 'bytes=0-3', 'if-range': '"another"' } };
    assert.deepEqual((await client.ask('GET', page.href, stale)).text, whole);
  });

  above('a client that has an artifact is not sent it again', async () => {
    const { page } = await kept();
    const asked = (tag: string) => client.ask('GET', page.href, { headers: { 'if-none-match': tag } });
    const { status, text, headers } = await asked(`"${page.sha256}"`);
    assert.deepEqual([status, text, headers.get('etag')], [304, '', `"${page.sha256}"`]);
    assert.equal((await asked('"another"')).status, 200);
  });

  above('an artifact that an item does not have is reported as missing', async () => {
    const { jobId } = await kept();
    const missing = (path: string, code = 'artifact_not_found') =>
      client.refused(404, code, 'GET', `/jobs/${jobId}/items/${path}`);
    await missing('i-0/download?artifact=screenshot');
    await missing('no_results-0/download?artifact=html');
    await missing('nobody/download?artifact=html', 'item_not_found');
    await client.refused(422, 'invalid_request', 'GET', `/jobs/${jobId}/items/i-0/download`);
    await client.refused(422, 'invalid_request', 'GET', `/jobs/${jobId}/items/i-0/download?artifact=../x`);
  });
}
