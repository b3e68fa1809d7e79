import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { fileTarget, stdoutTarget } from '../../src/cli/client/file-target.ts';
import { Meter } from '../../src/cli/client/meter.ts';
import { Output, OutputClosed } from '../../src/cli/client/output.ts';
import { TerminalText } from '../../src/cli/client/terminal-text.ts';
import { liveLine, progressLine } from '../../src/cli/progress.ts';
import { Unreachable } from '../../src/contract/client/api-error.ts';
import { receiveFile } from '../../src/contract/client/receive-file.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { answerJson, clientOf, startApi } from './api-stub.ts';
import { tempFolder } from './trawl.ts';

const PAGE = Buffer.from('0123456789'.repeat(2000));
const SHA = createHash('sha256').update(PAGE).digest('hex');
const REQUEST = { path: '/download', query: { artifact: 'html' } };

/** Serves a file with ranges; the first answers break off, each after the given number of `upTo` bytes. */
async function startFiles(breaks: readonly number[] = [], file: Buffer = PAGE, sha256: string = SHA) {
  const asked: { range: unknown; ifRange: unknown }[] = [];
  const api = await startApi((request, response) => {
    const { range, 'if-range': ifRange } = request.headers;
    const upTo = breaks[asked.length] ?? null;
    asked.push({ range, ifRange });
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    if (from >= file.length) return answerJson(response, { status: 416, code: 'range', detail: 'No such range.' }, 416);
    const rest = file.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, { etag: `"${sha256}"`, 'content-length': rest.length });
    if (upTo === null) response.end(rest);
    else response.write(rest.subarray(0, upTo), () => request.socket.destroy());
  });
  return { ...api, asked };
}

async function receiveInto(url: string, out: string) {
  const target = await fileTarget(out, { keepsUnfinished: true });
  const seen: (readonly [number, number | null])[] = [];
  try {
    const onBytes = (bytes: number, total: number | null) => void seen.push([bytes, total]);
    const deps = { api: clientOf(url).api, target, startHash: () => createHash('sha256'), onBytes };
    const file = await receiveFile(deps, REQUEST);
    await target.finish();
    return { file, seen };
  } finally {
    await target.close();
  }
}

test('a download that breaks off continues after what has arrived, and is checked as a whole', async () => {
  const { url, asked } = await startFiles([7000, 7000]);
  const out = join(tempFolder(), 'new', 'page.html');
  const { file, seen } = await receiveInto(url, out);
  assert.deepEqual(file, { size: PAGE.length, sha256: SHA });
  assert.deepEqual(readFileSync(out), PAGE);
  assert.deepEqual(asked, [
    { range: undefined, ifRange: undefined },
    { range: 'bytes=7000-', ifRange: `"${SHA}"` },
    { range: 'bytes=14000-', ifRange: `"${SHA}"` },
  ]);
  assert.ok(seen.every(([, total]) => total === PAGE.length));
});

test('what an earlier command has downloaded is not requested again', async () => {
  const { url, asked } = await startFiles();
  const folder = tempFolder();
  writeFileSync(join(folder, 'page.html.unfinished'), PAGE.subarray(0, 12_345));
  await receiveInto(url, join(folder, 'page.html'));
  assert.deepEqual(readFileSync(join(folder, 'page.html')), PAGE);
  assert.deepEqual(readdirSync(folder), ['page.html']);
  assert.deepEqual(asked, [{ range: 'bytes=12345-', ifRange: undefined }]);
});

test('a partial file that belongs to something else is thrown away, however long it is', async () => {
  for (const size of [5000, 30_000]) {
    const { url } = await startFiles();
    const out = join(tempFolder(), 'page.html');
    writeFileSync(`${out}.unfinished`, Buffer.alloc(size, 'x'));
    await receiveInto(url, out);
    assert.deepEqual(readFileSync(out), PAGE);
  }
});

test('bytes that do not match their hash do not become a file', async () => {
  const { url, asked } = await startFiles(
    [],
    PAGE,
    SHA.replace(/./, (digit) => (digit === '0' ? '1' : '0')),
  );
  const out = join(tempFolder(), 'page.html');
  await assert.rejects(receiveInto(url, out), /its SHA-256 does not match/);
  assert.equal(existsSync(out), false);
  assert.equal(asked.length, 1);
});

test('a server that sends nothing more is given up, and what has arrived is kept for the next time', async () => {
  const { url, asked } = await startFiles([100, 0, 0, 0, 0, 0, 0]);
  const out = join(tempFolder(), 'page.html');
  await assert.rejects(receiveInto(url, out), Unreachable);
  assert.equal(existsSync(out), false);
  assert.equal(readFileSync(`${out}.unfinished`).length, 100);
  assert.ok(asked.length < 7);
});

test('an incomplete file is not visible, and what was there before is still there', async () => {
  const out = join(tempFolder(), 'rows.jsonl');
  writeFileSync(out, 'before');
  const broken = await fileTarget(out, { keepsUnfinished: false });
  await broken.write(Buffer.from('half'));
  await broken.close();
  assert.equal(readFileSync(out, 'utf8'), 'before');
  assert.equal(existsSync(`${out}.unfinished`), false);
  const whole = await fileTarget(out, { keepsUnfinished: false });
  await whole.write(Buffer.from('all'));
  await whole.finish();
  await whole.close();
  assert.equal(readFileSync(out, 'utf8'), 'all');
});

test('text for a terminal keeps its lines and loses control sequences, wherever the pieces are cut', () => {
  const bytes = Buffer.from('é\r\nb\tc\x1b[2J\u009b31m\u202etxt');
  const text = new TerminalText();
  const shown = [...bytes].map((byte) => text.push(Buffer.of(byte))).join('');
  assert.equal(shown, 'é\nb\tc\uFFFD[2J\uFFFD31m\uFFFDtxt');
  assert.equal(text.end(), '\n');
  assert.equal(new TerminalText().end(), '');
});

test('every byte is written to a pipe unchanged', async () => {
  const stream = new PassThrough();
  const target = stdoutTarget(new Output(stream), false);
  await target.write(Buffer.from([0, 27, 255]));
  await target.finish();
  assert.deepEqual(stream.read(), Buffer.from([0, 27, 255]));
});

test('a reader that has had enough ends the output, and a slow one is waited for', async () => {
  const stream = new PassThrough({ highWaterMark: 1 });
  const out = new Output(stream);
  let isWritten = false;
  const writing = out.write('some').then(() => {
    isWritten = true;
  });
  await new FakeClock().turn();
  assert.equal(isWritten, false);
  stream.resume();
  await writing;
  stream.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await new FakeClock().turn();
  await assert.rejects(out.write('more'), OutputClosed);
});

test('a transfer shows bytes, lines, speed and how long it will take', async () => {
  const clock = new FakeClock();
  const meter = new Meter({ clock, totalBytes: 4000, lineName: 'line' });
  const pieces = async function* () {
    for (let at = 0; at < 2; at += 1) {
      yield Buffer.from(`${'x'.repeat(9)}\n`.repeat(100));
      await clock.advance(1000);
    }
  };
  const shown: string[] = [];
  for await (const _ of meter.count(pieces(), () => shown.push(progressLine(meter.transfer())))) await clock.turn();
  assert.deepEqual(shown, ['1000 B of 3.9 KiB 25 % · 100 lines', '2 KiB of 3.9 KiB 50 % · 200 lines, 100/s · ETA 2 s']);
  assert.match(liveLine(meter.transfer(), 100, false), /^█{12}░{12} 2 KiB of 3.9 KiB 50 %/);
  const endless = {
    bytes: 2048,
    totalBytes: null,
    bytesPerSecond: 5,
    lines: { count: 7, perSecond: null, name: 'rows' },
  };
  assert.equal(liveLine(endless, 100, false), '2 KiB · 7 rows');
});
