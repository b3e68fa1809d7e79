import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { EventStream } from '../../src/controller/engine/events.ts';
import { Remover } from '../../src/controller/engine/remover.ts';
import { replaceResults } from '../../src/controller/extraction/replace-results.ts';
import { currentItems } from '../../src/controller/results/current-items.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { complete, givenJob, jobOf, runAll } from '../contract/ledger/hands.ts';
import { NOW, newItems, newJob, sourcePage, storedArtifact } from '../support/builders.ts';
import { deleteJob } from '../support/delete-job.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type MemoryLedger, openMemoryLedger } from '../support/memory/ledger.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';

/** Two callers of one ledger, whose calls take effect in the order of `schedule`: 0 is the first one, 1 the other. */
class Turns {
  readonly #waiting: [(() => void) | null, (() => void) | null] = [null, null];
  readonly #schedule: readonly number[];
  readonly #isOver = [false, false];
  #at = 0;

  constructor(schedule: readonly number[]) {
    this.#schedule = schedule;
  }

  ledgerFor(who: 0 | 1, ledger: Ledger): Ledger {
    return new Proxy(ledger, {
      get: (target, name) => {
        const method = Reflect.get(target, name);
        return async (...given: unknown[]) => {
          await new Promise<void>((resolve) => {
            this.#waiting[who] = resolve;
            this.#next();
          });
          return await Reflect.apply(method, target, given);
        };
      },
    });
  }

  over(who: 0 | 1): void {
    this.#isOver[who] = true;
    this.#next();
  }

  /** Lets a caller go on once each of the two wants something or is over. */
  #next(): void {
    const isReady = ([0, 1] as const).every((who) => this.#isOver[who] || this.#waiting[who] !== null);
    if (!isReady) return;
    const wanted = this.#schedule[this.#at] === 1 ? 1 : 0;
    const who = this.#isOver[wanted] ? ((1 - wanted) as 0 | 1) : wanted;
    this.#at += 1;
    const go = this.#waiting[who];
    this.#waiting[who] = null;
    go?.();
  }
}

const dataAt = (key: string): Outcome => ({
  kind: 'scraped',
  artifacts: [{ ...storedArtifact(key), kind: 'data' }],
});

/** The data, and the page that a re-extraction reads. */
const readAt = (key: string): Outcome => ({
  kind: 'scraped',
  artifacts: [{ ...storedArtifact(key), kind: 'data' }, SOURCE.html],
});
const SOURCE = sourcePage('old/items/p-0');

/** A finished job, and a finished re-extraction of it. */
async function extracted(): Promise<MemoryLedger> {
  const ledger = openMemoryLedger();
  await givenJob(ledger, { jobId: 'old' });
  await runAll(ledger, 'old', readAt('old/items/p-0/data.json'));
  await complete(ledger, 'old');
  const items = newItems(1).map((item) => ({ ...item, source: SOURCE }));
  await ledger.createJob(newJob({ jobId: 'new', extracts: 'old', sourceCreatedAt: NOW }), items, NOW);
  await runAll(ledger, 'new', dataAt('new/items/p-0/data.json'));
  await complete(ledger, 'new');
  return ledger;
}

/** Every way to choose `ones` out of this many places. */
function* choices(places: number, ones: number): Generator<readonly number[]> {
  if (ones > places) return;
  if (places === 0) {
    yield [];
    return;
  }
  for (const rest of choices(places - 1, ones)) yield [0, ...rest];
  if (ones > 0) for (const rest of choices(places - 1, ones - 1)) yield [1, ...rest];
}

async function race(schedule: readonly number[]) {
  const ledger = await extracted();
  const clock = new FakeClock({ now: NOW });
  const turns = new Turns(schedule);
  const [ours, theirs] = [turns.ledgerFor(0, ledger), turns.ledgerFor(1, ledger)];
  const remover = new Remover({
    ...openMemoryRecordings(),
    ...{ ledger: theirs, clock, events: new EventStream(), store: openMemoryResultStore() },
    digest: (text) => hash('sha256', text),
    leadTerm: () => 1,
    whenWritten: async () => {},
    again() {},
  });
  const { incarnation } = await jobOf(ledger, 'new');
  const removing = async () => {
    await theirs.changeJob('new', { kind: 'remove', incarnation }, NOW);
    await remover.runOnce();
    await remover.whenIdle();
    turns.over(1);
  };
  const replacing = replaceResults({ ledger: ours, clock }, 'new').finally(() => turns.over(0));
  const [answer] = await Promise.all([replacing, removing()]);
  return { answer: answer.kind, old: await jobOf(ledger, 'old'), next: await ledger.job('new') };
}

test('a re-extraction that is deleted while it is being applied either exists and replaces the data, or is gone and does not', async () => {
  const ends = new Map<string, number>();
  for (const schedule of choices(12, 7)) {
    const { answer, old, next } = await race(schedule);
    const isThere = next !== null && next.removing === undefined;
    if (answer === 'replaced')
      assert.ok(isThere && old.replacedBy === 'new', `replaced, then gone: ${schedule.join('')}`);
    else assert.equal(old.replacedBy, undefined, `not replaced, and stands there: ${schedule.join('')}`);
    if (!isThere) assert.equal(next, null, 'what is not kept is gone');
    const end = `${answer}, ${isThere ? 'kept' : 'deleted'}`;
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  assert.ok(
    (ends.get('replaced, kept') ?? 0) > 0 && (ends.get('refused, deleted') ?? 0) > 0,
    JSON.stringify([...ends]),
  );
});

test('the data of a job that has the id of a deleted re-extraction do not replace those of others', async () => {
  const ledger = await extracted();
  await replaceResults({ ledger, clock: new FakeClock({ now: NOW }) }, 'new');
  const dataKey = async () => {
    const item = await currentItems(ledger, await jobOf(ledger, 'old')).item('old', 'p-0');
    return item?.artifacts.find(({ kind }) => kind === 'data')?.key;
  };
  assert.equal(await dataKey(), 'new/items/p-0/data.json');
  await deleteJob(ledger, 'new');
  await givenJob(ledger, { jobId: 'new' });
  await runAll(ledger, 'new', dataAt('new/items/p-0/other.json'));
  assert.equal(await dataKey(), 'old/items/p-0/data.json');
});
