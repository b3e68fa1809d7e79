import assert from 'node:assert/strict';
import { DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { StorageTrouble } from '../../../src/ports/storage-trouble.ts';
import { bytes, KEEP } from '../../contract/result-store/bytes.ts';
import { inRoom, type Room, refused } from './result-room.ts';

async function fill({ url }: Room, count: number): Promise<void> {
  const keys = Array.from({ length: count }, (_, index) => `job-1/items/p-${String(index).padStart(4, '0')}/data.json`);
  while (keys.length > 0) {
    await Promise.all(keys.splice(0, 50).map((key) => fetch(`${url}/${key}`, { method: 'PUT', body: '{}' })));
  }
}

/** Some entries of a bulk delete are refused with this code, as long as `isRefused` says so. */
function refuseEntries({ s3 }: Room, code: string, isRefused: (key: string) => boolean): number[] {
  const sizes: number[] = [];
  s3.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName !== DeleteObjectsCommand.name) return await next(args);
        const { Delete } = args.input as DeleteObjectsCommand['input'];
        const given = Delete?.Objects ?? [];
        sizes.push(given.length);
        const kept = given.filter(({ Key }) => isRefused(Key ?? ''));
        const Objects = given.filter((each) => !kept.includes(each));
        const answer = await next({ ...args, input: { ...args.input, Delete: { ...Delete, Objects } } });
        const Errors = kept.map(({ Key }) => ({ Key, Code: code, Message: 'says the test' }));
        return { ...answer, output: { ...answer.output, Errors } };
      },
    { step: 'initialize', priority: 'low' },
  );
  return sizes;
}

inRoom('thousands of keys go page by page, and what is refused for now is tried again by itself', async (room) => {
  await fill(room, 2500);
  await room.store.put('job-2/data.json', bytes('x'), KEEP);
  const refusals = new Map<string, number>();
  const sizes = refuseEntries(room, 'InternalError', (key) => {
    const before = refusals.get(key) ?? 0;
    refusals.set(key, before + 1);
    return key.endsWith('7/data.json') && before < 2;
  });
  room.sent.length = 0;
  assert.equal(await room.store.removeAll('job-1/'), 2500);
  assert.deepEqual(sizes, [1000, 100, 100, 1000, 100, 100, 500, 50, 50]);
  assert.equal(room.sent.filter((name) => name === 'ListObjectsV2').length, 4);
  assert.equal(await room.store.removeAll('job-1/'), 0);
  assert.ok(await room.store.get('job-2/data.json'));
});

inRoom('a key that cannot be deleted for a long time is trouble that names it', async (room) => {
  await fill(room, 3);
  refuseEntries(room, 'SlowDown', (key) => key.includes('p-0001'));
  await assert.rejects(room.store.removeAll('job-1/'), (error) => {
    return error instanceof StorageTrouble && /job-1\/items\/p-0001\/data.json: says the test/.test(error.message);
  });
});

inRoom('a key that must not be deleted is an error at once, which says what to allow', async (room) => {
  await fill(room, 3);
  const sizes = refuseEntries(room, 'AccessDenied', (key) => key.includes('p-0002'));
  await assert.rejects(
    room.store.removeAll('job-1/'),
    /access denied: s3:DeleteObject in the bucket room-[\d-]+: .*p-0002/,
  );
  assert.deepEqual(sizes, [3]);
});

inRoom('where uploads cannot be listed, keys are removed all the same', async (room) => {
  await fill(room, 3);
  const answers = [refused('NotImplemented', 501), refused('AccessDenied', 403)];
  room.onCall(async ({ name }, go) => {
    if (name === 'ListMultipartUploads') throw answers.shift() ?? refused('InternalError', 500);
    await go();
  });
  assert.equal(await room.store.removeAll('job-1/'), 3);
  assert.equal(await room.store.removeAll('job-1/'), 0);
  await assert.rejects(room.store.removeAll('job-1/'), StorageTrouble);
});

inRoom('what is written during a removal is removed, too', async (room) => {
  await fill(room, 3);
  let late = 2;
  room.onCall(async ({ name }, go) => {
    await go();
    if (name !== 'DeleteObjects' || late === 0) return;
    late -= 1;
    await room.store.put(`job-1/items/a-late-${late}/data.json`, bytes(''), KEEP);
  });
  assert.equal(await room.store.removeAll('job-1/'), 5);
});
