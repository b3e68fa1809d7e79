import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openHostileServer } from '../egress/hostile-server.ts';
import { submit, tempDataDir, untilFinished, withEngine } from './engine.ts';

/** What authors do by mistake, and what it costs them: their own item, with a reason that helps. */
const SCRAPERS = {
  floating: `
    const gone = http.get(input.origin + '/gone');
    const other = http.get(input.origin + '/other');
    await other;
    await gone;
    return { data: {} };`,
  forgotten: `
    http.get(input.origin + '/gone');
    return { data: {} };`,
  undefined: `
    return { data: { owner: input.nothing.at.all } };`,
  nothing: `
    await http.get(input.origin + '/good');`,
};

test('a careless scraper fails its own item, and its worker lives on', async (t) => {
  const server = await openHostileServer({
    answer: (line, path) => {
      const status = path === '/gone' ? '404 Not Found' : '500 Error';
      line.say(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'trawl-careless-'));
  after(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const [name, code] of Object.entries(SCRAPERS)) writeFileSync(join(folder, `${name}.ts`), sourceOf(name, code));

  const config = { dataDir: tempDataDir(), workers: 1, allowAddresses: 'loopback', scrapers: [folder] };
  await withEngine(config, async (engine, pids) => {
    const [pid] = pids();
    const ends: Record<string, string> = {};
    for (const name of Object.keys(SCRAPERS)) {
      const jobId = await submit(engine, {
        scraper_id: name,
        items: [{ item_id: 'it', input: { origin: `http://127.0.0.1:${server.port}` } }],
        execution_policy: { retries: { max_retries: 0 } },
      });
      await untilFinished(engine, jobId);
      const failure = (await engine.ledger.item(jobId, 'it'))?.attempts.at(-1)?.failure;
      ends[name] = failure ? `${failure.type}: ${failure.message}` : 'success';
    }
    t.diagnostic(JSON.stringify(ends));
    assert.match(ends['floating'] ?? '', /^server_error: /);
    assert.equal(ends['forgotten'], 'success');
    assert.match(ends['undefined'] ?? '', /^unexpected: Cannot read properties of undefined.* \(undefined\.ts:\d+\)$/);
    assert.match(ends['nothing'] ?? '', /^unexpected: scrape returned undefined: it must return/);
    assert.deepEqual(pids(), [pid], 'the worker has died');
  });
});

function sourceOf(id: string, code: string): string {
  return `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: '${id}', name: 'x', version: '1', description: 'x', hosts: [],
  input: z.looseObject({ origin: z.string() }), output: z.object({}),
  async scrape({ input, http }) {${code}
  },
});
`;
}
