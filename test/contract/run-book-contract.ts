import assert from 'node:assert/strict';
import {
  type NewRun,
  NO_RUN_COUNTS,
  newRunItem,
  type RunItemState,
  type RunQuery,
  type RunRecord,
  runItemState,
} from '../../src/domain/scrape-run.ts';
import type { RunBook } from '../../src/ports/run-book.ts';
import { NOW } from '../support/builders.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

export interface RunBookParts {
  readonly runs: RunBook;
}

export function newRun(more: Partial<NewRun> = {}): NewRun {
  return { domain: 'example.com', source: null, startedAt: NOW, metadata: {}, ...more };
}

export function urlsFrom(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `https://example.com/page/${first + at}?a=%C3%A4`);
}

export async function createRun(
  runs: RunBook,
  urls: readonly string[],
  more: Partial<NewRun> = {},
  now = NOW,
): Promise<RunRecord> {
  const draft = await runs.draft();
  await draft.add(urls);
  return await draft.commit(newRun(more), now);
}

export async function itemsOf(runs: RunBook, id: string, state: RunItemState | null = null, limit = 7) {
  const items = [];
  for (let after: string | null = null; ; ) {
    const page = await runs.items(id, { state, after, limit });
    items.push(...page.items);
    assert.ok(page.items.length <= limit);
    if (page.next === null) return items;
    after = page.next;
  }
}

/** The counts of a run agree with its items. */
export async function countsOf(runs: RunBook, id: string) {
  const run = await runs.run(id);
  const counts = { ...NO_RUN_COUNTS, pending: 0 };
  for (const item of await itemsOf(runs, id, null, 1000)) {
    counts.total += 1;
    counts[runItemState(item)] += 1;
  }
  const { pending, ...counted } = counts;
  assert.deepEqual(run?.counts, counted);
  return { ...counted, pending };
}

const EVERYTHING: RunQuery = { sortBy: 'createdAt', sortOrder: 'asc', offset: 0, limit: 100 };

/** Everything that the comments of `ports/run-book.ts` promise. `open` makes one without runs. */
export function runBookContract(
  name: string,
  open: () => Promise<Opened<RunBookParts>>,
  options: SuiteOptions = {},
): void {
  suite<RunBookParts>(`scrape runs on ${name}`, open, options, (add) => {
    add('a run is visible once it is committed, with its items in order, each URL once', async ({ runs }) => {
      const draft = await runs.draft();
      const urls = urlsFrom(0, 250);
      await draft.add([...urls.slice(0, 120), ...urls.slice(0, 10)]);
      await draft.add(urls.slice(100));
      assert.deepEqual(await runs.list(EVERYTHING), { runs: [], total: 0 });
      const wanted = newRun({ source: 'manual', metadata: { started_at: '2026-11-18T08:00:00Z' }, startedAt: NOW - 5 });
      const run = await draft.commit(wanted, NOW);
      await draft.drop();
      const times = { endedAt: null, createdAt: NOW, updatedAt: NOW };
      const counts = { ...NO_RUN_COUNTS, total: 250 };
      assert.deepEqual(run, { ...wanted, id: run.id, status: 'pending', ...times, counts });
      assert.deepEqual(await runs.run(run.id), run);
      assert.deepEqual(await runs.list(EVERYTHING), { runs: [run], total: 1 });
      assert.deepEqual(await itemsOf(runs, run.id, null, 100), urls.map(newRunItem));
    });

    add('a draft that is dropped leaves nothing, and a run may have no items', async ({ runs }) => {
      const draft = await runs.draft();
      await draft.add(urlsFrom(0, 3));
      await draft.drop();
      await runs.sweep();
      assert.deepEqual(await runs.list(EVERYTHING), { runs: [], total: 0 });
      const run = await (await runs.draft()).commit(newRun(), NOW);
      assert.deepEqual(await itemsOf(runs, run.id), []);
      assert.equal(run.counts.total, 0);
    });

    add('a run that does not exist is missing everywhere', async ({ runs }) => {
      for (const id of ['', 'nothing', 'nothing-0', 'ä'.repeat(200)]) {
        assert.equal(await runs.run(id), null);
        assert.deepEqual(await runs.items(id, { state: null, after: null, limit: 10 }), { items: [], next: null });
        assert.deepEqual(await runs.add(id, urlsFrom(0, 1), NOW), { kind: 'missing' });
        assert.deepEqual(await runs.update(id, [{ url: 'x', changes: {} }], NOW), { kind: 'missing' });
        assert.equal(await runs.change(id, { kind: 'reopen' }, NOW), null);
        assert.equal(await runs.remove(id), false);
      }
    });

    add('an update changes the fields that are given, and repeating it changes nothing', async ({ runs }) => {
      const [a = '', b = '', c = ''] = urlsFrom(0, 3);
      const { id } = await createRun(runs, [a, b, c]);
      const failed = { failed: true, failedReason: 'status 500 \u2028 "quoted"' };
      const changes = [
        { url: a, changes: { done: true } },
        { url: b, changes: failed },
        { url: 'https://example.com/other', changes: { done: true } },
        { url: c, changes: { invalid: true } },
      ];
      const after = [
        { ...newRunItem(a), done: true },
        { ...newRunItem(b), ...failed },
        { ...newRunItem(c), invalid: true },
      ];
      const unknown = ['https://example.com/other'];
      assert.deepEqual(await runs.update(id, changes, NOW + 1), { kind: 'updated', changed: after, unknown });
      assert.deepEqual(await runs.update(id, changes, NOW + 2), { kind: 'updated', changed: [], unknown });
      assert.deepEqual(await itemsOf(runs, id), after);
      const run = await runs.run(id);
      assert.deepEqual([run?.status, run?.updatedAt, run?.endedAt], ['processing', NOW + 1, null]);
      const counts = { total: 3, completed: 1, failed: 1, invalid: 1, pending: 0 };
      assert.deepEqual(await countsOf(runs, id), counts);
      await runs.update(id, [{ url: b, changes: { done: true, failedReason: null } }], NOW + 3);
      assert.deepEqual((await itemsOf(runs, id))[1], { ...newRunItem(b), done: true, failed: true });
      assert.deepEqual(await countsOf(runs, id), { ...counts, completed: 2, failed: 0 });
    });

    add('changes of one item are applied in the given order', async ({ runs }) => {
      const [url = '', other = ''] = urlsFrom(0, 2);
      const { id } = await createRun(runs, [url, other]);
      const answer = await runs.update(
        id,
        [
          { url, changes: { failed: true, failedReason: 'first' } },
          { url: other, changes: { done: true } },
          { url, changes: { failedReason: 'x'.repeat(5000) } },
          { url: other, changes: { done: false } },
        ],
        NOW,
      );
      const [first, second] = await itemsOf(runs, id);
      assert.deepEqual(first, { ...newRunItem(url), failed: true, failedReason: 'x'.repeat(1000) });
      assert.deepEqual(second, newRunItem(other));
      assert.ok(answer.kind === 'updated');
      assert.deepEqual(
        answer.changed.find((item) => item.url === url),
        first,
      );
      assert.deepEqual(await countsOf(runs, id), { ...NO_RUN_COUNTS, total: 2, failed: 1, pending: 1 });
    });

    add('items are found by their state, page by page', async ({ runs }) => {
      const urls = urlsFrom(0, 300);
      const { id } = await createRun(runs, urls);
      const done = urls.filter((_, at) => at % 3 === 0);
      await runs.update(
        id,
        done.map((url) => ({ url, changes: { done: true } })),
        NOW,
      );
      await runs.update(id, [{ url: urls[200] ?? '', changes: { failed: true } }], NOW);
      const found = async (state: RunItemState) => (await itemsOf(runs, id, state)).map(({ url }) => url);
      assert.deepEqual(await found('completed'), done);
      assert.deepEqual(await found('failed'), [urls[200]]);
      assert.deepEqual(await found('invalid'), []);
      const pending = urls.filter((url, at) => at % 3 !== 0 && url !== urls[200]);
      assert.deepEqual(await found('pending'), pending);
      assert.deepEqual((await runs.items(id, { state: null, after: 'nonsense', limit: 5 })).items, []);
    });

    add('items that are added come last, and those that are there stay as they are', async ({ runs }) => {
      const urls = urlsFrom(0, 220);
      const { id } = await createRun(runs, urls.slice(0, 5));
      await runs.update(id, [{ url: urls[2] ?? '', changes: { done: true } }], NOW);
      assert.deepEqual(await runs.add(id, urls.slice(2), NOW + 1), { kind: 'added', added: 215, known: 3 });
      assert.deepEqual(await runs.add(id, urls, NOW + 2), { kind: 'added', added: 0, known: 220 });
      assert.deepEqual(
        (await itemsOf(runs, id, null, 90)).map(({ url }) => url),
        urls,
      );
      assert.deepEqual(await countsOf(runs, id), { ...NO_RUN_COUNTS, total: 220, completed: 1, pending: 219 });
      assert.equal((await runs.run(id))?.updatedAt, NOW + 1);
    });

    add('writers at the same time do not undo each other', async ({ runs }) => {
      const urls = urlsFrom(0, 60);
      const { id } = await createRun(runs, urls.slice(0, 40));
      const done = (from: number, to: number) =>
        runs.update(
          id,
          urls.slice(from, to).map((url) => ({ url, changes: { done: true } })),
          NOW + from,
        );
      const reasons = runs.update(
        id,
        urls.slice(10, 30).map((url) => ({ url, changes: { failed: true, failedReason: url } })),
        NOW,
      );
      const adding = [runs.add(id, urls.slice(30, 50), NOW), runs.add(id, urls.slice(35), NOW)];
      const [one, other] = await Promise.all([...adding, reasons, done(0, 15), done(5, 20), done(20, 40)]);
      const added = [one, other].map((answer) => (answer?.kind === 'added' ? answer.added : 0));
      assert.equal((added[0] ?? 0) + (added[1] ?? 0), 20);
      assert.deepEqual(await countsOf(runs, id), { ...NO_RUN_COUNTS, total: 60, completed: 40, pending: 20 });
      const items = await itemsOf(runs, id);
      assert.deepEqual(
        items.slice(10, 30).map(({ failedReason }) => failedReason),
        urls.slice(10, 30),
      );
    });

    add('a run ends once; later changes of its items keep the end, and it can be reopened', async ({ runs }) => {
      const [url = '', other = ''] = urlsFrom(0, 2);
      const { id } = await createRun(runs, [url], { metadata: { started_at: 'then' } });
      const end = { kind: 'end', status: 'finished', endedAt: NOW + 5, metadata: { finished_count: 1 } } as const;
      const ended = await runs.change(id, end, NOW + 6);
      const metadata = { started_at: 'then', finished_count: 1 };
      assert.deepEqual([ended?.status, ended?.endedAt, ended?.metadata], ['finished', NOW + 5, metadata]);
      assert.deepEqual(await runs.run(id), ended);
      const again = { ...end, status: 'failed', endedAt: NOW + 50, metadata: { failed_count: 0 } } as const;
      const repeated = await runs.change(id, again, NOW + 7);
      assert.deepEqual([repeated?.status, repeated?.endedAt], ['finished', NOW + 5]);
      assert.deepEqual(repeated?.metadata, { ...metadata, failed_count: 0 });
      assert.deepEqual(await runs.change(id, again, NOW + 8), repeated);
      assert.deepEqual(await runs.add(id, [other], NOW), { kind: 'ended' });
      const late = await runs.update(id, [{ url, changes: { done: true } }], NOW + 9);
      assert.ok(late.kind === 'updated' && late.changed.length === 1);
      const { status, endedAt, counts } = (await runs.run(id)) ?? {};
      assert.deepEqual([status, endedAt, counts?.completed], ['finished', NOW + 5, 1]);
      const reopened = await runs.change(id, { kind: 'reopen' }, NOW + 10);
      assert.deepEqual([reopened?.status, reopened?.endedAt], ['processing', null]);
      assert.deepEqual(await runs.add(id, [other], NOW), { kind: 'added', added: 1, known: 0 });
    });

    add('a run that was ended without a report is processing when it is reopened', async ({ runs }) => {
      const { id } = await createRun(runs, urlsFrom(0, 1));
      await runs.change(id, { kind: 'end', status: 'failed', endedAt: NOW, metadata: {} }, NOW);
      assert.equal((await runs.run(id))?.status, 'failed');
      await runs.change(id, { kind: 'reopen' }, NOW);
      assert.equal((await runs.run(id))?.status, 'processing');
    });

    add('runs are listed by domain and status, in any order, page by page', async ({ runs }) => {
      const create = (domain: string, startedAt: number) =>
        createRun(runs, urlsFrom(0, 1), { domain, startedAt }, NOW + startedAt);
      const a1 = (await create('a.example', 30)).id;
      const b1 = (await create('b.example', 20)).id;
      const a2 = (await create('a.example', 10)).id;
      const a3 = (await create('a.example', 40)).id;
      await runs.change(a3, { kind: 'end', status: 'finished', endedAt: NOW + 99, metadata: {} }, NOW);
      await runs.change(a2, { kind: 'end', status: 'finished', endedAt: NOW + 98, metadata: {} }, NOW);
      await runs.update(b1, [{ url: urlsFrom(0, 1)[0] ?? '', changes: { done: true } }], NOW);
      const listed = async (query: Partial<RunQuery>) => {
        const { runs: found, total } = await runs.list({ ...EVERYTHING, ...query });
        return [found.map(({ id }) => id), total];
      };
      assert.deepEqual(await listed({}), [[a2, b1, a1, a3], 4]);
      assert.deepEqual(await listed({ sortBy: 'startTime', sortOrder: 'desc' }), [[a3, a1, b1, a2], 4]);
      assert.deepEqual(await listed({ sortBy: 'endTime', domain: 'a.example' }), [[a2, a3, a1], 3]);
      assert.deepEqual(await listed({ sortBy: 'domain', sortOrder: 'desc', limit: 1 }), [[b1], 4]);
      assert.deepEqual(await listed({ status: 'finished', offset: 1, limit: 1 }), [[a3], 2]);
      assert.deepEqual(await listed({ status: 'processing', domain: 'b.example' }), [[b1], 1]);
      assert.deepEqual(await listed({ status: 'processing', domain: 'a.example' }), [[], 0]);
      assert.deepEqual(await listed({ offset: 9 }), [[], 4]);
    });

    add('a removed run is gone, and others are not touched', async ({ runs }) => {
      const urls = urlsFrom(0, 250);
      const gone = await createRun(runs, urls);
      const kept = await createRun(runs, urls);
      assert.equal(await runs.remove(gone.id), true);
      assert.equal(await runs.remove(gone.id), false);
      assert.equal(await runs.run(gone.id), null);
      assert.deepEqual(await itemsOf(runs, gone.id), []);
      await runs.sweep();
      assert.deepEqual((await runs.list(EVERYTHING)).runs, [kept]);
      assert.equal((await itemsOf(runs, kept.id, null, 1000)).length, 250);
    });

    add('long URLs and long reasons are kept as they are', async ({ runs }) => {
      const long = (at: number) => `https://example.com/${at}/${'é\\"'.repeat(1000)}`;
      const urls = Array.from({ length: 130 }, (_, at) => long(at));
      const { id } = await createRun(runs, urls);
      const reason = '\u2028€\u0001'.repeat(333);
      await runs.update(
        id,
        urls.map((url) => ({ url, changes: { failed: true, failedReason: reason } })),
        NOW,
      );
      const items = await itemsOf(runs, id, 'failed', 50);
      assert.deepEqual(
        items,
        urls.map((url) => ({ ...newRunItem(url), failed: true, failedReason: reason })),
      );
    });
  });
}
