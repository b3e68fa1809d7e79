import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type County, startCounty } from '../../demo/county.ts';
import { command, tempFolder, trawl } from './trawl.ts';

const EXPORTS = fileURLToPath(new URL('../domain/recording/exports/', import.meta.url));

test('an export is imported, checked and shown', async () => {
  const folder = tempFolder();
  const out = join(folder, 'county.recording.json');
  const imported = await trawl([
    'recordings',
    'import',
    join(EXPORTS, 'selenium.side'),
    '--id',
    'county',
    '--parameterize',
    '--out',
    out,
  ]);
  assert.equal(imported.code, 1, imported.stderr);
  assert.match(imported.stdout, /^Selenium IDE \(\.side\): 23 entries converted to 16 steps\nchanged:\n {2}entry 6/);
  assert.match(imported.stdout, /\nlost:\n {2}entry 21 \(if\): conditions and loops are scripts/);
  assert.match(imported.stdout, /\n {2}step 3: "503-51-079" as \{\{input\.parcel\}\}\n/);

  const again = await command(['recordings', 'import', join(EXPORTS, 'selenium.side'), '--id', 'county', '--out', out]);
  assert.deepEqual([again.code, /exists already; --force replaces it/.test(again.stderr)], [2, true]);

  const checked = await command(['recordings', 'check', out]);
  assert.equal(checked.code, 0, checked.stderr);
  assert.match(checked.stdout, /: county 1\.0\.0, 17 steps, input parcel, year, suffix\n/);
  assert.match(checked.stdout, /\n {2}step 10 \(dialog\) needs a browser: dialogs are opened by scripts\n/);

  const shown = await command(['recordings', 'show', out]);
  assert.match(shown.stdout, /\n3\. fill #ctl00_txtParcel with "\{\{input\.parcel\}\}"\n/);
});

test('a mistake in a recording is named by its step', async () => {
  const folder = tempFolder();
  const file = join(folder, 'broken.recording.json');
  const recording = {
    id: 'broken',
    hosts: ['a.example'],
    steps: [{ type: 'goto', url: 'https://a.example/' }, { type: 'clik' }],
  };
  writeFileSync(file, JSON.stringify(recording));
  const checked = await command(['recordings', 'check', file]);
  assert.equal(checked.code, 1);
  assert.match(
    checked.stdout,
    /cannot be used:\n {2}step 2 \(clik\), type: there is no step "clik"; did you mean click\?/,
  );
  const shown = await command(['recordings', 'show', file]);
  assert.deepEqual([shown.code, /step 2 \(clik\)/.test(shown.stderr)], [1, true]);
});

test('the report for programs and the recording for a pipe', async () => {
  const folder = tempFolder();
  const file = join(folder, 'actions.json');
  copyFileSync(join(EXPORTS, 'plain-actions.json'), file);
  const out = join(folder, 'x.recording.json');
  const imported = await command(['recordings', 'import', file, '--id', 'x', '--json', '--out', out]);
  const { format, converted, lost } = JSON.parse(imported.stdout) as {
    format: string;
    converted: number;
    lost: object[];
  };
  assert.deepEqual([format, converted, lost.length], ['plain', 11, 2]);
  const piped = await command(['recordings', 'import', file, '--id', 'x', '--out', '-']);
  assert.equal(piped.stdout, readFileSync(out, 'utf8'));
});

let county: County;
before(async () => {
  county = await startCounty({ parcels: 100 });
});
after(() => county.close());

test('a recording is run by its id, without a browser where it needs none, and a failure names its step', async () => {
  const folder = tempFolder();
  const recording = (id: string, owner: string) => ({
    ...{ id, hosts: ['demo-county.test'], engine: 'http' },
    steps: [
      { type: 'goto', url: 'http://demo-county.test/parcel/{{input.apn}}' },
      { type: 'assertSameItem', selectors: ['#datalet_lblParid'], value: '{{input.apn}}' },
      { type: 'extractText', selectors: [owner], field: 'apn' },
    ],
  });
  for (const [id, owner] of [
    ['good', '#datalet_lblParid'],
    ['bad', '#renamed'],
  ] as const) {
    writeFileSync(join(folder, `${id}.recording.json`), JSON.stringify(recording(id, owner)));
  }
  const routes = `http://demo-county.test=${county.url}`;
  const env = { TRAWL_ROUTES: routes, TRAWL_ALLOW_ADDRESSES: 'loopback', TRAWL_SCRAPERS: folder };
  const run = (id: string) => command(['recordings', 'run', id, '--input', 'apn=101-01-001', '--json'], env, folder);
  const good = await run('good');
  assert.equal(good.code, 0, good.stdout + good.stderr);
  assert.deepEqual((JSON.parse(good.stdout) as { data: object }).data, { apn: '101-01-001' });
  const bad = await run('bad');
  assert.equal(bad.code, 1);
  assert.match((JSON.parse(bad.stdout) as { error: { message: string } }).error.message, /step 3/);
  const listed = await command(['scrapers', 'list', '--json'], env, folder);
  assert.match(listed.stdout, /"id": "good"/);
});
