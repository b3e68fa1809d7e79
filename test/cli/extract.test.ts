import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { changesText } from '../../src/cli/extracting.ts';
import { startService } from '../api/service.ts';
import { folderWith } from '../scraping/scraper-folder.ts';
import { startApi } from './api-stub.ts';
import { command, tempFolder, trawl, writeLines } from './trawl.ts';

/** The newer parse reads something else from one page, and nothing at all from another. */
function scraperSource(id: string, owner: string): string {
  return `import { defineHttpScraper, z } from 'trawl/scraper';
export default defineHttpScraper({
  id: '${id}', name: 'Owners', version: '1.0.0', description: 'Who owns a parcel.',
  input: z.strictObject({ apn: z.string() }),
  output: z.object({ owner: z.string().min(1) }),
  hosts: ['owners.test'],
  async scrape({ input, http }) {
    return { html: await http.get('http://owners.test/' + input.apn) };
  },
  parse({ page }) {
    return { owner: ${owner} };
  },
});
`;
}

test('a newer parse of the pages of a job: the differences are shown, and then replace the old data', async (t) => {
  let requests = 0;
  const site = await startApi(({ url = '' }, response) => {
    requests += 1;
    response
      .setHeader('content-type', 'text/html')
      .end(`<p id="a">SMITH ${url}</p>${url === '/3' ? '' : '<p id="b">J</p>'}`);
  });
  const folder = folderWith(t, {
    'old.ts': scraperSource('owners', "page.text('#a')"),
    'new.ts': scraperSource(
      'owners-again',
      "page.text('#a') + (page.text('#a').endsWith('2') ? '' : ' ' + page.text('#b'))",
    ),
  });
  const settings = { scrapers: [folder], allowAddresses: 'loopback', routes: `http://owners.test=${site.url}` };
  const { url } = await startService(settings);
  const run = (...words: string[]) => command(words, { TRAWL_URL: url });
  const list = writeLines(tempFolder(), 'list.csv', ['apn', '1', '2', '3', '4']);
  assert.equal((await run('jobs', 'create', 'owners', '--items', list, '--job-id', 'old', '--watch')).code, EXIT.done);
  assert.equal(requests, 4);

  const again = ['extract', 'old', '--scraper', 'owners-again', '--job-id', 'new'];
  const seen = await trawl(again, { TRAWL_URL: url });
  assert.match(seen.stderr, /Job new parses 4 pages of old\./);
  assert.match(seen.stdout, /^2 of 3 items would change\. 1 item could not be parsed and keeps its data\.\n\n/);
  assert.match(seen.stdout, /FIELD {2}CHANGED .*\nowner {8}2 {6}0 {8}0 {2}1: "SMITH \/1" → "SMITH \/1 J"\n/);
  const hint = `trawl ${again.join(' ')} --replace`;
  assert.ok(seen.stderr.endsWith(`The data of old are unchanged. To replace them:\n  ${hint}\n`), seen.stderr);
  assert.equal(seen.code, EXIT.someItemsFailed);
  const owners = async () => {
    const { stdout } = await run('jobs', 'export', 'old');
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).data.owner);
  };
  assert.deepEqual(await owners(), ['SMITH /1', 'SMITH /2', 'SMITH /3', 'SMITH /4']);

  const done = await run(...again, '--replace', '--json');
  assert.deepEqual([JSON.parse(done.stdout).changed, JSON.parse(done.stdout).replaced], [2, true]);
  assert.deepEqual(await owners(), ['SMITH /1 J', 'SMITH /2', 'SMITH /3', 'SMITH /4 J']);
  assert.match((await run(...again)).stderr, /already replaced\.\n$/);
  assert.equal(requests, 4);

  const nowhere = await run('extract', 'nothing');
  assert.deepEqual([nowhere.code, nowhere.stderr], [EXIT.badUsage, 'trawl: Job not found: nothing\n']);
});

test('a re-extraction that finds nothing different says so, and replaces nothing', async (t) => {
  const site = await startApi((_, response) => response.setHeader('content-type', 'text/html').end('<p id="a">X</p>'));
  const folder = folderWith(t, { 'owners.ts': scraperSource('owners', "page.text('#a')") });
  const settings = { scrapers: [folder], allowAddresses: 'loopback', routes: `http://owners.test=${site.url}` };
  const { url } = await startService(settings);
  const run = (...words: string[]) => command(words, { TRAWL_URL: url });
  const list = writeLines(tempFolder(), 'list.csv', ['apn', '1', '2']);
  assert.equal((await run('jobs', 'create', 'owners', '--items', list, '--job-id', 'old', '--watch')).code, EXIT.done);
  const same = await run('extract', 'old', '--job-id', 'new', '--yes');
  assert.equal(same.code, EXIT.done);
  assert.match(same.stdout, /^0 of 2 items would change\.\n/);
  assert.match(same.stderr, /Nothing differs, so there is nothing to replace\.\n$/);
  assert.doesNotMatch(same.stderr, /were replaced/);
  assert.equal(JSON.parse((await run('extract', 'old', '--job-id', 'new', '--yes', '--json')).stdout).replaced, false);
});

test('changes are listed by field, with the values before and after, however odd', () => {
  const example = { item_id: 'p\x1b1', before: 'x'.repeat(100), after: null };
  const changes = {
    job_id: 'n',
    extracts: 'o',
    state: 'complete',
    compared: 1200,
    total: 1200,
    recovered: 0,
    replaced: false,
  } as const;
  const fields = [{ field: 'bills[].amount', items: 1000, added: 0, removed: 7, examples: [example] }];
  const text = changesText({ ...changes, changed: 1000, failed: 0, fields });
  assert.match(text, /^1,000 of 1,200 items would change\.\n\n/);
  assert.match(text, /\nbills\[\]\.amount {4}1,000 {6}0 {8}7 {2}p 1: "x{58}… → nothing\n$/);
  assert.equal(changesText({ ...changes, changed: 0, failed: 0, fields: [] }), '0 of 1,200 items would change.\n');
  assert.match(
    changesText({ ...changes, changed: 300, recovered: 300, failed: 2, fields: [] }),
    /^300 of 1,200 items would change\. 300 failed items would become successes\. 2 items could not be parsed and keep their data\.\n$/,
  );
});
