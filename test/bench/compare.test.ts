import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { compareRuns, figuresOf } from '../../bench/compare/ratios.ts';
import { sized } from '../support/sized.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'bench', 'main.ts');

function startCompare(t: TestContext, args: readonly string[]) {
  const temporary = mkdtempSync(join(tmpdir(), 'trawl-test-'));
  t.after(() => rmSync(temporary, { recursive: true, force: true }));
  const child = spawn(process.execPath, [MAIN, 'compare', 'HEAD', ...args], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').then(([code]) => code as number);
  return { child, ended, left: () => readdirSync(temporary) };
}

const ROUNDS = sized({ quick: 1, slow: 2 });
const SMALL = ['concurrency', '--items', '20', '--ms', '1', '--workers', '1'];

test('compare prints a ratio with its spread for every figure of both sides, and leaves nothing behind', async (t) => {
  const { child, ended, left } = startCompare(t, [...SMALL, '--rounds', String(ROUNDS), '--json']);
  const [printed, code] = await Promise.all([text(child.stdout), ended]);
  assert.equal(code, 0);
  const result = JSON.parse(printed);
  assert.equal(result.benchmark, SMALL.join(' '));
  assert.equal(result.rounds, ROUNDS);
  assert.deepEqual([result.only_here, result.only_other], [{}, {}]);
  const { here, other, ratio, lowest, highest } = result.figures.cpu_seconds;
  assert.ok(here > 0 && other > 0 && lowest > 0);
  assert.ok(lowest <= ratio && ratio <= highest);
  assert.deepEqual(result.figures.items, { here: 20, other: 20, ratio: 1, lowest: 1, highest: 1 });
  assert.deepEqual(left(), []);
});

test('compare says on which side a benchmark does not run', async (t) => {
  const { child, ended } = startCompare(t, ['no-such-benchmark', '--rounds', '1']);
  const [printed, code] = await Promise.all([text(child.stdout), ended]);
  assert.equal(code, 1);
  assert.match(printed, /^here: .*: does not run: usage/m);
  assert.match(printed, /^other: .*: does not run: usage/m);
});

test('Ctrl-C ends the run that is under way, and leaves nothing behind', async (t) => {
  const { child, ended, left } = startCompare(t, [...SMALL, '--rounds', '50']);
  await once(child.stderr, 'data');
  assert.equal(left().length, 1);
  child.kill('SIGINT');
  assert.equal(await ended, 130);
  assert.deepEqual(left(), []);
});

test('figures are the numbers of a result, by their path', () => {
  const result = { items: 5, at: '7', rows: [{ name: 'trawl', rss_mb: 3 }], samples: [1, { done: 2 }], none: null };
  assert.deepEqual(figuresOf(result), { items: 5, 'rows.trawl.rss_mb': 3, 'samples.0': 1, 'samples.1.done': 2 });
});

test('runs of the same round are compared with each other, and a figure of one side is named', () => {
  const here = [
    { rate: 10, mb: 4, news: 1 },
    { rate: 40, mb: 4, news: 3 },
    { rate: 12, mb: 0, news: 2 },
  ];
  const other = [
    { rate: 20, mb: 4, old: 1 },
    { rate: 20, mb: 2, old: 1 },
    { rate: 10, mb: 0, old: 1 },
  ];
  const compared = compareRuns(here, other);
  assert.deepEqual(compared.figures['rate'], { here: 12, other: 20, ratio: 1.2, lowest: 0.5, highest: 2 });
  assert.deepEqual(compared.figures['mb'], { here: 4, other: 2, ratio: 1, lowest: 1, highest: 2 });
  assert.deepEqual([compared.only_here, compared.only_other], [{ news: 2 }, { old: 1 }]);
});

test('there is no ratio to a figure that is 0 on the other side only', () => {
  const { figures } = compareRuns([{ lost: 1 }, { lost: 2 }], [{ lost: 0 }, { lost: 0 }]);
  assert.deepEqual(figures['lost'], { here: 1.5, other: 0, ratio: null, lowest: null, highest: null });
});
