import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { ItemDetailAnswer } from '../../../src/contract/item-answers.ts';
import { type Client, uniqueId } from './client.ts';

/** A page is stored compressed if it is long, and the id of its item is in it. */
const ITEMS = { identity: 'Straße 5', gzip: 'x'.repeat(1000) } as const;

/** Downloads by link: a client that allows it is redirected to the bytes, on a backend where they have an address. */
export function linkCases(client: Client, { hasLinks }: { readonly hasLinks: boolean }): void {
  const kept = async (encoding: keyof typeof ITEMS) => {
    const item_id = ITEMS[encoding];
    const { job_id: jobId } = await client.run({
      ...{ job_id: uniqueId('linked'), scraper_id: 'test-mixed' },
      items: [{ item_id, input: {} }],
    });
    const path = `/jobs/${jobId}/items/${encodeURIComponent(item_id)}`;
    const { artifacts } = await client.get<ItemDetailAnswer>(path);
    const page = artifacts.find(({ kind }) => kind === 'html');
    assert.equal(page?.encoding, encoding);
    return page;
  };
  const ask = (path: string, headers: Record<string, string> = {}) =>
    client.ask('GET', path, { redirect: 'manual', headers });

  for (const encoding of ['identity', 'gzip'] as const) {
    test(`a client that may be redirected gets the same file from there: ${encoding}`, async () => {
      const { href, sha256 } = await kept(encoding);
      const streamed = await ask(href);
      const asked = await ask(`${href}&redirect=true`);
      assert.equal(asked.status, hasLinks ? 307 : 200);
      const link = asked.headers.get('location');
      assert.equal(link !== null, hasLinks);
      if (link !== null) {
        assert.equal(asked.headers.get('cache-control'), 'no-store');
        assert.notEqual(new URL(link).origin, client.url);
        assert.equal(new URL(link).searchParams.get('X-Amz-Expires'), '300');
      }
      const { status, text, headers } = link === null ? asked : await fetched(link);
      assert.deepEqual([status, text], [200, streamed.text]);
      assert.equal(createHash('sha256').update(text).digest('hex'), sha256);
      for (const name of ['content-disposition', 'content-type']) {
        assert.equal(headers.get(name), streamed.headers.get(name), name);
      }
    });
  }

  test('a client that did not ask for a redirect, or could not use the stored bytes, is not redirected', async () => {
    const { href, sha256 } = await kept('gzip');
    const { text: whole } = await ask(href);
    assert.equal((await ask(`${href}&redirect=false`)).status, 200);
    const elsewhere = `${href}&redirect=true`;
    const unpacked = await ask(elsewhere, { 'accept-encoding': 'identity' });
    assert.deepEqual([unpacked.status, unpacked.text], [200, whole]);
    const part = await ask(elsewhere, { range: 'bytes=0-3' });
    assert.deepEqual([part.status, part.text], [206, whole.slice(0, 4)]);
    assert.equal((await ask(elsewhere, { 'if-none-match': `"${sha256}"` })).status, 304);
    for (const redirect of ['1', 'TRUE', '', 'yes', 'true&redirect=true']) {
      await client.refused(422, 'invalid_request', 'GET', `${href}&redirect=${redirect}`);
    }
  });
}

async function fetched(url: string) {
  const answer = await fetch(url);
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
