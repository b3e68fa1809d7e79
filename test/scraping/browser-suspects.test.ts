import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_POLICY } from '../../src/domain/policy.ts';
import { BrowserVisit, type VisitWish } from '../../src/scraping/browser/browser-visit.ts';
import { Suspects } from '../../src/scraping/browser/suspects.ts';

const { signal } = new AbortController();

test('a browser that ends makes suspects of all items that were in it, and each is alone in its next try', async () => {
  const suspects = new Suspects();
  const [guilty, innocent] = [await suspects.enter('guilty', signal), await suspects.enter('innocent', signal)];
  assert.deepEqual(guilty.leave(true), { deaths: 1, wasShared: true });
  assert.deepEqual(innocent.leave(true), { deaths: 1, wasShared: true });

  const order: string[] = [];
  const enter = async (item: string) => {
    const entered = await suspects.enter(item, signal);
    order.push(item);
    return entered;
  };
  const other = await enter('other');
  const [second, cleared, last] = [enter('guilty'), enter('innocent'), enter('another')];
  assert.deepEqual(
    order,
    ['other'],
    'a suspect waits until all others have left, and those after it wait for their turn',
  );
  other.leave(false);
  assert.deepEqual((await second).leave(true), { deaths: 2, wasShared: false });
  assert.deepEqual((await cleared).leave(false), { deaths: 0, wasShared: false });
  (await last).leave(false);
  assert.deepEqual(order, ['other', 'guilty', 'innocent', 'another']);

  const third = await suspects.enter('guilty', signal);
  assert.equal(third.leave(true).deaths, 3);
  assert.equal(third.leave(true).deaths, 0, 'leaving twice is harmless');
});

test('an item that gives up waiting leaves the line, and lets the next one in', async () => {
  const suspects = new Suspects();
  (await suspects.enter('a', signal)).leave(true);
  const inside = await suspects.enter('b', signal);
  const cut = new AbortController();
  const waiting = suspects.enter('a', cut.signal);
  const next = suspects.enter('c', signal);
  cut.abort('over');
  await assert.rejects(waiting, (reason) => reason === 'over');
  (await next).leave(false);
  inside.leave(false);
});

test('a suspect waits for its neighbours, and they wait for it, without using up the time of the items that wait', async () => {
  const suspects = new Suspects();
  (await suspects.enter('suspect', signal)).leave(true);
  const neighbour = await suspects.enter('neighbour', signal);
  const uncounted: string[] = [];
  /** It gets no further than the way out. */
  const visit = async (suspect: string) => {
    const wish = {
      ...{ suspect, job: null, policy: DEFAULT_POLICY, storage: null, visit: { signal } },
      browser: { suspects, ways: { open: () => Promise.reject(new Error('no way out')) } },
      waitUncounted: async (wait: () => Promise<unknown>) => {
        const waited = await wait();
        uncounted.push(suspect);
        return waited;
      },
    } as unknown as VisitWish;
    await assert.rejects(BrowserVisit.open(wish), /no way out/);
  };
  const both = [visit('suspect'), visit('another')];
  assert.deepEqual(uncounted, []);
  neighbour.leave(false);
  await Promise.all(both);
  assert.deepEqual(uncounted, ['suspect', 'another']);
});
