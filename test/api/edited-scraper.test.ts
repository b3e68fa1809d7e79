import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ItemDetailAnswer } from '../../src/contract/item-answers.ts';
import type { JobAnswer } from '../../src/contract/job-answers.ts';
import { untilTrue } from '../support/until.ts';
import { startService } from './service.ts';
import { Client } from './suite/client.ts';

const folder = mkdtempSync(join(tmpdir(), 'trawl-edited-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function write(said: string, more = ''): void {
  const source = `import { definePlainScraper, z } from 'trawl/scraper';
export default definePlainScraper({
  id: 'edited', name: 'Edited', version: '1.0.0', description: '', input: z.unknown(),
  async scrape() {
    return { kind: 'scraped', artifacts: [{ kind: 'data', bytes: Buffer.from('{"said":"${said}"}') }] };
  },
});
${more}`;
  writeFileSync(join(folder, 'edited.ts'), source);
}

write('before');
const client = await Client.of(await startService({ scrapers: [folder] }));

/** The data of an item that is scraped now, and the version that is recorded for it. */
async function scraped(): Promise<readonly [said: unknown, version: string]> {
  const { job_id } = await client.run({ scraper_id: 'edited', items: [{ item_id: 'a', input: {} }] });
  const { scraper_version } = await client.get<ItemDetailAnswer>(`/jobs/${job_id}/items/a`);
  return [(await client.get<{ said: string }>(`/jobs/${job_id}/items/a/download?artifact=data`)).said, scraper_version];
}

test('a scraper that is edited while the service runs is used as it is now, and its items say which code it was', async () => {
  assert.deepEqual(await scraped(), ['before', '1.0.0']);
  write('after');
  let last: readonly [unknown, string] = ['', ''];
  await untilTrue(async () => {
    last = await scraped();
    return last[0] === 'after';
  });
  assert.match(last[1], /^1\.0\.0\+[0-9a-f]{7}$/);
});

test('a job whose edited scraper cannot be loaded continues with the previous code, and warns about it', async () => {
  const { job_id } = await client.create({ scraper_id: 'edited', hold: true, items: [{ item_id: 'a', input: {} }] });
  const warnings = async () => (await client.get<JobAnswer>(`/jobs/${job_id}`)).warnings;
  assert.deepEqual(await warnings(), []);
  write('broken', 'const = 5;');
  await untilTrue(async () => (await warnings()).length > 0);
  const [warning] = await warnings();
  assert.deepEqual([warning?.path, warning?.code], ['scraper_id', 'edited_scraper_unusable']);
  assert.match(
    warning?.message ?? '',
    /^the edited scraper is not used, and the previously loaded one keeps running: .*edited\.ts:8 /,
  );
  const created = await client.create({ scraper_id: 'edited' });
  assert.deepEqual(created.warnings, [warning]);
  assert.equal((await scraped())[0], 'after');
  write('repaired');
  await untilTrue(async () => (await warnings()).length === 0);
});
