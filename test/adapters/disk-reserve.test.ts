import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DiskReserve } from '../../src/adapters/embedded/disk-reserve.ts';

test('a reserve takes up room until it is given up, and can be set aside again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'trawl-reserve-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const reserve = new DiskReserve(folder);
  const file = join(folder, 'reserve');
  await reserve.layUp();
  const { size, blocks } = statSync(file);
  assert.equal(size, 4 * 2 ** 20);
  assert.ok(blocks * 512 >= size, 'it is not only said to be there');
  await reserve.giveUp();
  assert.ok(!existsSync(file));
  await reserve.giveUp();
  await reserve.layUp();
  assert.ok(existsSync(file));
});

test('where nothing can be written a reserve is storage trouble, and leaves nothing half made', async () => {
  const reserve = new DiskReserve('/proc');
  await assert.rejects(reserve.layUp(), (error) => error instanceof Error);
  assert.ok(!existsSync('/proc/reserve'));
});
