import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import {
  formatBytes,
  formatCommand,
  formatDuration,
  formatPercent,
  formatRate,
  formatSpan,
  printable,
} from '../../src/cli/format.ts';
import { liveLine, type Progress, progressLine, RateWindow } from '../../src/cli/progress.ts';
import { ProgressDisplay } from '../../src/cli/progress-display.ts';
import { NO_COUNTS } from '../../src/domain/counts.ts';
import { FakeClock } from '../support/fake-clock.ts';

function progressOf(changes: Partial<Progress> & { counts?: Progress['counts'] } = {}): Progress {
  const counts = { ...NO_COUNTS, total: 2000, success: 1197, failed: 3 };
  return { counts, failures: new Map(), perSecond: 240, eta: null, note: null, pace: null, ...changes };
}

test('in a pipe the line shows position, rate, failures and how long it will take', () => {
  assert.equal(progressLine(progressOf()), '1,200/2,000 60 % · 240/s · 3 failed · ETA 3.3 s · 1,197 ok');
});

test('a range of the time left is shown in one unit', () => {
  const line = (lowMs: number, highMs: number) => progressLine(progressOf({ eta: { lowMs, highMs } }));
  assert.match(line(720_000, 900_000), / · ETA 12–15 min · /);
  assert.match(line(3300, 3400), / · ETA 3 s · /);
  assert.deepEqual(
    [formatSpan(40_000, 119_000), formatSpan(100_000, 120_000), formatSpan(5.4e6, 1.1e7), formatSpan(1e8, 2e8)],
    ['40–119 s', '2 min', '2–3 h', '1–2 d'],
  );
});

test('failures are shown by type, most frequent first', () => {
  const failures = new Map([
    ['timeout', 1],
    ['blocked', 1500],
    ['poison', 2],
    ['not_found', 3],
  ]);
  assert.match(progressLine(progressOf({ failures })), / 3 failed \(1,500 blocked, 3 not_found, 2 poison …\) /);
  assert.match(progressLine(progressOf({ failures: new Map([['blocked', 3]]) })), / 3 failed \(blocked\) /);
});

test('what holds a job back is shown: items that wait, why and how long, and a lowered limit', () => {
  const limited = { type: 'rate_limited', items: 3, ms: 40_000 };
  const line = (waiting: NonNullable<Progress['pace']>['waiting'], limit = 5) =>
    progressLine(progressOf({ pace: { waiting, host: null, limit, maxLimit: 5 } }));
  assert.match(line([limited], 2), / 240\/s · 3 waiting: rate_limited, 40 s · 5 → 2 at a time · 3 failed /);
  const more = [limited, { type: 'timeout', items: 1, ms: 2000 }];
  assert.match(line(more), / 4 waiting: 3 rate_limited, 1 timeout, 2 s · 3 failed /);
  assert.equal(line([]), progressLine(progressOf()));
  const counts = { ...NO_COUNTS, total: 5, success: 5 };
  const over = progressOf({ counts, pace: { waiting: [limited], host: null, limit: 2, maxLimit: 5 } });
  assert.equal(progressLine(over), '5/5 100 % · 240/s · 5 ok', 'nothing is left to be held back');
});

test('a host that keeps the whole job waiting is named, with the end of the wait', () => {
  const host = 'waiting for county.gov until 2026-03-01 14:05:00 UTC';
  const line = progressLine(progressOf({ pace: { waiting: [], host, limit: 5, maxLimit: 5 } }));
  assert.ok(line.includes(` 240/s · ${host} · 3 failed `), line);
});

test('there is no ETA without a rate, at a standstill, at the end, or while items are read', () => {
  const done = { ...NO_COUNTS, total: 5, success: 4, skipped: 1 };
  assert.equal(progressLine(progressOf({ counts: done })), '5/5 100 % · 240/s · 1 skipped · 4 ok');
  for (const changes of [{ perSecond: null }, { perSecond: 0 }, { note: 'reading items' }]) {
    assert.doesNotMatch(progressLine(progressOf(changes)), /ETA/);
  }
  assert.match(progressLine(progressOf({ note: 'reading items' })), /60 % · reading items · 3 failed/);
});

test('on a terminal a bar comes first, and what does not fit is left out, but never the position', () => {
  const wide = liveLine(progressOf(), 100, false);
  assert.equal(wide, `${'█'.repeat(14)}${'░'.repeat(10)} 1,200/2,000 60 % · 240/s · 3 failed · ETA 3.3 s · 1,197 ok`);
  for (let columns = 18; columns < 120; columns += 1) {
    const line = liveLine(progressOf({ failures: new Map([['blocked', 3]]) }), columns, false);
    assert.ok(line.length < columns, `${line.length} of ${columns}: ${line}`);
    assert.ok(line.includes('1,200/2,000 60 %'), line);
  }
});

test('colours change nothing but the colours', () => {
  const coloured = liveLine(progressOf(), 100, true);
  assert.notEqual(coloured, liveLine(progressOf(), 100, false));
  assert.equal(stripVTControlCharacters(coloured), liveLine(progressOf(), 100, false));
});

test('the rate is that of the last ten seconds', () => {
  const rate = new RateWindow();
  assert.equal(rate.perSecond(), null);
  rate.add(0, 0);
  assert.equal(rate.perSecond(), null);
  for (let second = 1; second <= 20; second += 1) rate.add(second * 1000, second * 100);
  assert.equal(rate.perSecond(), 100);
  for (let second = 21; second <= 31; second += 1) rate.add(second * 1000, 2000);
  assert.equal(rate.perSecond(), 0);
});

test('the time until the first item ends is not counted', () => {
  const rate = new RateWindow();
  for (const at of [0, 2000, 4000]) rate.add(at, 7);
  assert.equal(rate.perSecond(), null);
  rate.add(5000, 57);
  assert.equal(rate.perSecond(), 50);
});

test('reopened items do not make the rate negative', () => {
  const rate = new RateWindow();
  rate.add(0, 100);
  rate.add(1000, 10);
  assert.equal(rate.perSecond(), 0);
});

function screenOf(isTTY: boolean) {
  const written: string[] = [];
  return { written, isTTY, columns: 100, hasColors: () => false, write: (text: string) => written.push(text) };
}

test('a terminal is redrawn at most ten times a second, however much happens, and once at the end', async () => {
  const clock = new FakeClock();
  const screen = screenOf(true);
  let finished = 0;
  const look = async () => progressOf({ counts: { ...NO_COUNTS, total: 5000, success: finished } });
  const display = new ProgressDisplay({ screen, clock, look });
  for (let ms = 0; ms < 1000; ms += 1) {
    finished += 1;
    display.poke();
    await clock.advance(1);
  }
  assert.ok(screen.written.length >= 9 && screen.written.length <= 11, `${screen.written.length} times`);
  assert.ok(screen.written.every((text) => text.startsWith('\r\x1b[2K')));
  const before = screen.written.length;
  finished = 5000;
  await display.stop();
  assert.match(screen.written.slice(before).join(''), /5,000\/5,000 100 %.*\n$/s);
});

test('without news a terminal is redrawn once a second', async () => {
  const clock = new FakeClock();
  const screen = screenOf(true);
  const display = new ProgressDisplay({ screen, clock, look: async () => progressOf() });
  await clock.advance(5600);
  assert.equal(screen.written.length, 5);
  await display.stop();
});

test('in a pipe there is a line every two seconds if there is news, none twice, and notes come between them', async () => {
  const clock = new FakeClock();
  const screen = screenOf(false);
  let finished = 1;
  const look = async () => progressOf({ perSecond: null, counts: { ...NO_COUNTS, total: 9, success: finished } });
  const display = new ProgressDisplay({ screen, clock, look });
  for (let ms = 0; ms < 4100; ms += 100) {
    display.poke();
    await clock.advance(100);
    if (ms === 2500) finished = 2;
  }
  display.note('a worker died');
  await display.stop();
  assert.deepEqual(screen.written, ['1/9 11 % · 1 ok\n', '2/9 22 % · 2 ok\n', 'a worker died\n']);
});

test('a note is shown above the live line', async () => {
  const clock = new FakeClock();
  const screen = screenOf(true);
  const display = new ProgressDisplay({ screen, clock, look: async () => progressOf() });
  display.poke();
  await clock.advance(1);
  display.note('hello');
  assert.match(stripVTControlCharacters(screen.written.at(-1) ?? ''), /^\rhello\n.*1,200\/2,000/s);
  await display.stop();
});

test('a terminal that does not know its size still gets a line', async () => {
  const screen = { ...screenOf(true), columns: 0 };
  const clock = new FakeClock();
  const display = new ProgressDisplay({ screen, clock, look: async () => progressOf() });
  display.poke();
  await clock.advance(1);
  assert.match(stripVTControlCharacters(screen.written.join('')), /1,200\/2,000/);
  await display.stop();
});

test('a display that cannot read the job does not end it', async () => {
  const clock = new FakeClock();
  let looked = 0;
  const look = () => {
    looked += 1;
    return Promise.reject(new Error('closed'));
  };
  const display = new ProgressDisplay({ screen: screenOf(false), clock, look });
  display.poke();
  await clock.advance(10_000);
  await assert.doesNotReject(display.stop());
  assert.ok(looked > 0);
});

test('numbers, durations and commands are written for people', () => {
  assert.deepEqual([0, 400, 9940, 9960, 59_400, 200_000, 3_600_000, 7_500_000, 100_000_000].map(formatDuration), [
    '0 s',
    '0.4 s',
    '9.9 s',
    '10 s',
    '59 s',
    '3 min 20 s',
    '1 h',
    '2 h 5 min',
    '1 d 4 h',
  ]);
  assert.deepEqual([0.036, 2.54, 12.4, 1234.5].map(formatRate), ['0.036/s', '2.5/s', '12/s', '1,235/s']);
  assert.deepEqual([0, 1023, 1536, 20 * 2 ** 20].map(formatBytes), ['0 B', '1023 B', '1.5 KiB', '20 MiB']);
  assert.deepEqual(
    [formatPercent(0, 0), formatPercent(1, 1000), formatPercent(999, 1000), formatPercent(7, 7)],
    ['0 %', '<1 %', '99 %', '100 %'],
  );
  assert.equal(formatCommand(['trawl', 'run', "it's", 'a b', 'x=1']), `trawl run 'it'\\''s' 'a b' x=1`);
});

test('what a site sends cannot control the terminal', () => {
  assert.equal(printable('a\x1b[2Jb\r\nc\u009b'), 'a [2Jb c');
  assert.equal(printable('x'.repeat(500)).length, 300);
});
