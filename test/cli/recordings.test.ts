import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type County, startCounty } from '../../demo/county.ts';
import { askAboutStep } from '../../src/cli/recordings/ask-about-step.ts';
import { reportText } from '../../src/cli/recordings/record.ts';
import { parseRecording } from '../../src/domain/recording/parse-recording.ts';
import { composeRecorded } from '../../src/domain/recording/record/compose-recorded.ts';
import type { RecordedEvent } from '../../src/domain/recording/record/recorded-event.ts';
import { command, tempFolder, trawl, writeLines } from './trawl.ts';

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

test('a mistake in a recording is reported with its step', async () => {
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

test('recording is refused before anything is opened: without a display, over an existing file, or at an invalid address', async () => {
  const folder = tempFolder();
  const out = join(folder, 'mine.recording.json');
  writeFileSync(out, '{}');
  const record = (...args: string[]) =>
    command(['recordings', 'record', ...args], { DISPLAY: '', WAYLAND_DISPLAY: '' }, folder);
  const refused = async (says: RegExp, ...args: string[]) => {
    const { code, stderr } = await record(...args);
    assert.deepEqual([code, says.test(stderr)], [2, true], stderr);
  };
  await refused(/recording needs a display, and DISPLAY is not set/, 'https://county.example.gov/');
  await refused(/mine\.recording\.json exists already; --force replaces it/, 'county.example.gov', '--out', out);
  await refused(/--id Mine: must be lower-case letters/, 'county.example.gov', '--id', 'Mine');
  await refused(/file:\/\/\/etc\/passwd is not an address/, 'file:///etc/passwd');
});

test('the report of a recording shows its steps, what is missing, and what to do next', () => {
  const fill: RecordedEvent = {
    ...{ type: 'fill', tab: 0, at: 1, frame: null, value: '101-02-003' },
    element: { ref: 'a', isText: true, selectors: ['label/Parcel'] },
  };
  const visit = { url: 'https://county.example.gov/', events: [fill], hosts: [] };
  const recorded = composeRecorded(visit, { id: 'county', parameterize: true });
  const parsed = parseRecording(recorded.recording);
  assert.ok(parsed.ok);
  const about = { file: 'scrapers/county.recording.json', isParameterized: true };
  assert.equal(
    reportText({ ...recorded, notes: ['a file'] }, parsed.recording, about),
    `recorded 2 steps at county.example.gov:
  1. goto https://county.example.gov/
  2. fill "Parcel" with "{{input.parcel}}"
not recorded:
  a file
made placeholders of:
  step 2: "101-02-003" as {{input.parcel}}
written to scrapers/county.recording.json

Next: add what to read from the last page (docs/recordings.md), then
  $ trawl recordings check scrapers/county.recording.json
  $ trawl recordings run county --input parcel=VALUE
`,
  );
});

test('in a terminal, the user is asked about a failing step until there is an answer', async () => {
  const ask = async (typed: string) => {
    const input = new PassThrough();
    const output = new PassThrough();
    let said = '';
    output.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    input.end(typed);
    const answer = await askAboutStep(
      input,
      output,
    )({ path: '4', message: 'step 4, click "Search": \u001b[2Jno match' });
    return [answer, said] as const;
  };
  const [answer, said] = await ask('what\ns\n');
  assert.equal(answer, 'skip');
  assert.match(
    said,
    /^paused: step 4, click "Search": .*no match\n(?:Enter repeats the step, s skips it, q ends .*){2}$/,
  );
  assert.ok(!said.includes('\u001b'));
  const answers = await Promise.all(['\n', 'q\n', ''].map(ask));
  assert.deepEqual(
    answers.map(([each]) => each),
    ['retry', 'quit', 'quit'],
  );
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
  const items = writeLines(folder, 'apns.csv', ['apn', '101-01-001', '101-01-002']);
  const asJob = await command(
    ['run', 'bad', '--items', items],
    { ...env, TRAWL_DATA_DIR: join(folder, 'data') },
    folder,
  );
  assert.match(asJob.stdout, /^Steps:\n {2}1\. goto http:\/\/demo-county\.test\S+: 2 items, median /m, asJob.stderr);
  assert.match(asJob.stdout, /^ {2}3\. read the text of #renamed.*; 100 % of failures \(2 structure_changed\)$/m);
  const byFile = await command(['recordings', 'run', 'good.recording.json', '--input', 'apn=101-01-001'], env, folder);
  assert.match(byFile.stdout, /\ngood 1\.0\.0, 1 request/);
  for (const [says, ...args] of [
    [/--pause-on-failure asks in a terminal, and this is not one/, '--pause-on-failure'],
    [/--headed and --pause-on-failure need --engine browser, not http/, '--headed', '--engine', 'http'],
    [/--engine must be auto, browser or http/, '--engine', 'fast'],
  ] as const) {
    const { code, stderr } = await command(['recordings', 'run', 'good', ...args], { ...env, DISPLAY: '' }, folder);
    assert.deepEqual([code, says.test(stderr)], [2, true], stderr);
  }
  const listed = await command(['scrapers', 'list', '--json'], env, folder);
  assert.match(listed.stdout, /"id": "good"/);
});
