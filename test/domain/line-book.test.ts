import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  bookEndsAt,
  EMPTY_BOOK,
  type JobDemand,
  type LineAsk,
  type LineBook,
  reserve,
} from '../../src/domain/line-book.ts';
import { hearHealth, type LineNews } from '../../src/domain/line-health.ts';
import { type LineLimits, linePace, NO_LIMITS } from '../../src/domain/line-limits.ts';
import { packLineBook, unpackLineBook } from '../../src/domain/pack-line-book.ts';
import { sized } from '../support/sized.ts';
import { NOW } from './builders.ts';

const LEASE_MS = 1000;

function demand(job: string, places: number, weight = 1, perSecond = places * 10): JobDemand {
  return { job, weight, places, perSecond };
}

function askOf(limits: Partial<LineLimits>, demands: readonly JobDemand[], inside = 0): LineAsk {
  return { limits: { ...NO_LIMITS, ...limits }, leaseMs: LEASE_MS, inside, demands, news: null };
}

/** Processes that ask every lease, one after another, and what each of them got per second on average. */
function playLine(limits: Partial<LineLimits>, processes: Readonly<Record<string, readonly JobDemand[]>>, rounds = 40) {
  let book: LineBook = EMPTY_BOOK;
  const names = Object.keys(processes);
  const starts: number[] = [];
  const slots = new Map(names.map((name) => [name, 0]));
  const jobs = new Map<string, number>();
  let places = new Map<string, number | null>();
  for (let round = 0; round < rounds; round += 1) {
    places = new Map();
    for (const [at, name] of names.entries()) {
      const now = NOW + round * LEASE_MS + (at * LEASE_MS) / names.length;
      const answer = reserve(book, name, askOf(limits, processes[name] ?? []), now);
      book = roundTrip(answer.book);
      starts.push(...answer.share.slots.map((slot) => now + slot));
      slots.set(name, (slots.get(name) ?? 0) + answer.share.slots.length * answer.share.each);
      for (const [job, part] of answer.share.parts) {
        jobs.set(job, (jobs.get(job) ?? 0) + part * answer.share.slots.length * answer.share.each);
      }
      places.set(name, answer.share.places);
    }
  }
  starts.sort((a, b) => a - b);
  const perSecond = (count: number) => count / rounds;
  return {
    starts,
    places,
    processRates: new Map([...slots].map(([name, count]) => [name, perSecond(count)])),
    jobRates: new Map([...jobs].map(([name, count]) => [name, perSecond(count)])),
  };
}

/** As it is stored. */
function roundTrip(book: LineBook): LineBook {
  const read = unpackLineBook(packLineBook(book));
  assert.ok(read);
  return read;
}

function near(actual: number | null | undefined, expected: number, share = 0.1): void {
  assert.ok(Math.abs((actual ?? 0) - expected) <= expected * share, `${actual} is not near ${expected}`);
}

test('the slots of a line are divided among its jobs by weight, wherever their items run', () => {
  const { jobRates, processRates } = playLine(
    { requestsPerSecond: 40 },
    { w1: [demand('a', 10)], w2: [demand('a', 10)], w3: [demand('a', 10), demand('b', 10)], w4: [demand('b', 10)] },
  );
  near(jobRates.get('a'), 20);
  near(jobRates.get('b'), 20);
  near(processRates.get('w4'), 10);

  const weighted = playLine({ requestsPerSecond: 40 }, { w1: [demand('a', 10, 3)], w2: [demand('b', 10)] });
  near(weighted.jobRates.get('a'), 30);
  near(weighted.jobRates.get('b'), 10);
});

test('what one job does not need goes to the others', () => {
  const { jobRates } = playLine({ requestsPerSecond: 40 }, { w1: [demand('a', 20)], w2: [demand('b', 1, 1, 5)] });
  near(jobRates.get('a'), 35);
  near(jobRates.get('b'), 5, 0.2);
});

test('a process alone on a line gets all of it, and half of what it does not ask for', () => {
  near(playLine({ requestsPerSecond: 40 }, { w1: [demand('a', 20)] }).processRates.get('w1'), 40, 0.05);
  near(playLine({ requestsPerSecond: 40 }, { w1: [demand('a', 1, 1, 4)] }).processRates.get('w1'), 22, 0.1);
  assert.equal(reserve(EMPTY_BOOK, 'w1', askOf({ maxConcurrent: 16 }, [demand('a', 20)]), NOW).share.places, 16);
  assert.equal(reserve(EMPTY_BOOK, 'w1', askOf({ maxConcurrent: 16 }, [demand('a', 2)]), NOW).share.places, 9);
});

test('where there are fewer slots or places than processes, they take turns', () => {
  const names = ['w1', 'w2', 'w3'];
  const all = Object.fromEntries(names.map((name) => [name, [demand('a', 5)]]));
  const slow = playLine({ minDelayMs: 4000 }, all, 120);
  for (const name of names) near(slow.processRates.get(name), 1 / 4.05 / 3, 0.25);

  let book: LineBook = EMPTY_BOOK;
  const turns = new Map<string, number>();
  for (let round = 0; round < 90; round += 1) {
    for (const [at, name] of names.entries()) {
      const ask = askOf({ maxConcurrent: 1 }, [demand('a', 5)]);
      const answer = reserve(book, name, ask, NOW + round * LEASE_MS + at);
      book = answer.book;
      turns.set(name, (turns.get(name) ?? 0) + (answer.share.places ?? 0));
    }
  }
  for (const name of names) near(turns.get(name), 30, 0.4);
});

test('a process that has filled its places and may now use fewer keeps them until they are empty', () => {
  const full = reserve(EMPTY_BOOK, 'w1', askOf({ maxConcurrent: 4 }, [demand('a', 9)]), NOW);
  const other = reserve(full.book, 'w2', askOf({ maxConcurrent: 4 }, [demand('a', 9)]), NOW + 1);
  const told = reserve(other.book, 'w1', askOf({ maxConcurrent: 4 }, [demand('a', 9)], 4), NOW + 1000);
  assert.equal(told.share.places, 2);
  assert.equal(reserve(told.book, 'w2', askOf({ maxConcurrent: 4 }, [demand('a', 9)]), NOW + 1001).share.places, 0);
});

test('a process that died is forgotten when its lease has ended', () => {
  const ask = askOf({ maxConcurrent: 4, requestsPerSecond: 10 }, [demand('a', 9)]);
  const { book } = reserve(EMPTY_BOOK, 'dead', ask, NOW);
  const soon = reserve(book, 'w2', ask, NOW + 1000);
  assert.equal(soon.share.places, 0);
  const later = reserve(soon.book, 'w2', ask, NOW + 2000);
  assert.equal(later.share.places, 4);
  assert.equal(later.book.holders.length, 1);
  near(later.share.slots.length, 10, 0.3);
});

test('a place is not kept for a process that did not ask again when it was due', () => {
  const ask = askOf({ maxConcurrent: 1 }, [demand('j1', 1)]);
  const nothing = askOf({ maxConcurrent: 1 }, []);
  let { book } = reserve(EMPTY_BOOK, 'w1', ask, NOW);
  for (let at = 500; at < 3500; at += 1000) {
    book = reserve(book, 'w2', ask, NOW + at).book;
    book = reserve(book, 'w3', ask, NOW + at + 100).book;
    book = reserve(book, 'w1', ask, NOW + at + 500).book;
  }
  book = reserve(book, 'w1', nothing, NOW + 3600).book;
  // The caller of w2 has given up. It was to ask at 3500, and its turn came before that of w3.
  assert.equal(reserve(book, 'w3', ask, NOW + 3700).share.places, 0);
  assert.equal(reserve(book, 'w3', ask, NOW + 3800).share.places, 1);
});

test('a reservation that was long on its way does not give slots away a second time', () => {
  const ask = askOf({ requestsPerSecond: 10 }, [demand('j1', 5, 1, 5)]);
  for (const lateMs of [1600, 2500, 4000, 20_000]) {
    const first = reserve(EMPTY_BOOK, 'w1', ask, NOW);
    const late = reserve(roundTrip(first.book), 'w2', ask, NOW - lateMs);
    const next = reserve(roundTrip(late.book), 'w3', ask, NOW + 20);
    const given = [...first.share.slots, ...next.share.slots.map((slot) => slot + 20)].sort((a, b) => a - b);
    assert.ok(first.share.slots.length > 0 && next.share.slots.length > 0);
    for (const [at, slot] of given.slice(1).entries()) {
      assert.ok(slot - (given[at] ?? 0) >= 100 - 0.001, `${lateMs} ms late: ${given[at]} and ${slot}`);
    }
  }
});

test('a reservation that was long on its way does not forget slots that were given at another pace', () => {
  const ask = (requestsPerSecond: number) => askOf({ requestsPerSecond }, [demand('j1', 5, 1, 1)]);
  const first = reserve(EMPTY_BOOK, 'w1', ask(10), NOW);
  const second = reserve(roundTrip(first.book), 'w1', ask(9), NOW + 1000);
  const late = reserve(roundTrip(second.book), 'w2', ask(9), NOW - 11_000);
  const next = reserve(roundTrip(late.book), 'w3', ask(9), NOW + 1020);
  const given = [first.share.slots, second.share.slots.map((slot) => slot + 1000)].flat();
  assert.ok(next.share.slots.length > 0);
  for (const slot of next.share.slots.map((offset) => offset + 1020)) {
    const nearest = Math.min(...given.map((other) => Math.abs(other - slot)));
    assert.ok(nearest >= 1000 / 9 - 0.001, `${slot} is ${nearest} ms from another`);
  }
});

test('a reservation that was long on its way does not end the lease of another process', () => {
  const ask = askOf({ maxConcurrent: 4 }, [demand('j1', 4)]);
  for (const lateMs of [1000, 3000, 20_000]) {
    const first = reserve(EMPTY_BOOK, 'w1', ask, NOW);
    assert.equal(first.share.places, 4);
    const late = reserve(roundTrip(first.book), 'w2', ask, NOW - lateMs);
    assert.equal(late.share.places, 0);
    assert.equal(reserve(roundTrip(late.book), 'w3', ask, NOW + 20).share.places, 0, `${lateMs} ms late`);
  }
});

test('a clock that was an hour ahead neither blocks the line nor gives it away twice', () => {
  const ask = askOf({ maxConcurrent: 4, requestsPerSecond: 10 }, [demand('a', 9)]);
  const ahead = reserve(EMPTY_BOOK, 'w1', ask, NOW + 3_600_000);
  const first = reserve(ahead.book, 'w2', ask, NOW);
  // The process that reserved by the other clock may still use its share.
  assert.equal(first.share.places, 0);
  assert.deepEqual(first.share.slots, []);
  let { book } = first;
  let now = NOW;
  let share = first.share;
  for (; now < NOW + 5000; now += LEASE_MS) ({ book, share } = reserve(book, 'w2', ask, now));
  assert.equal(share.places, 4);
  assert.ok(share.slots.length >= 9);
});

test('the slots of a minimum delay are never closer than it is, although each can be used a little late', () => {
  for (const minDelayMs of [20, 100, 1000, 30_000]) {
    const pace = linePace({ ...NO_LIMITS, minDelayMs });
    assert.ok(pace);
    assert.ok(pace.spacingMs - pace.lateMs >= minDelayMs);
    assert.equal(pace.each, 1);
  }
  assert.deepEqual(linePace({ ...NO_LIMITS, requestsPerSecond: 5, minDelayMs: 100 })?.spacingMs, 200);
});

test('a delay too short to be noticed is kept on average', () => {
  assert.deepEqual(linePace({ ...NO_LIMITS, minDelayMs: 2 }), linePace({ ...NO_LIMITS, requestsPerSecond: 500 }));
});

test('a line of many requests per second has slots for several at once', () => {
  const pace = linePace({ ...NO_LIMITS, requestsPerSecond: 1000 });
  assert.deepEqual([pace?.spacingMs, pace?.each], [20, 20]);
  const { processRates } = playLine({ requestsPerSecond: 1000 }, { w1: [demand('a', 500)], w2: [demand('b', 500)] });
  near(processRates.get('w1'), 500);
});

/** Any number of processes, at any times, with any demand, on a line whose limits change. */
const anyStep = fc.record({
  process: fc.constantFrom('w1', 'w2', 'w3', 'w4', 'w5'),
  afterMs: fc.oneof(fc.nat(100), fc.nat(3000), fc.nat(20_000)),
  demands: fc.array(
    fc.record({
      job: fc.constantFrom('a', 'b', 'c'),
      weight: fc.constantFrom(1, 2, 10),
      places: fc.nat(30),
      perSecond: fc.nat(100),
    }),
    { maxLength: 3 },
  ),
  /** How many of the places it has are filled when it asks next. */
  filled: fc.double({ min: 0, max: 1, noNaN: true }),
  limits: fc.option(
    fc.record({
      maxConcurrent: fc.option(fc.integer({ min: 1, max: 30 })),
      requestsPerSecond: fc.option(fc.constantFrom(0.2, 1, 3, 40, 400)),
      minDelayMs: fc.constantFrom(0, 0, 5, 300, 7000),
    }),
    { freq: 8 },
  ),
});

test('no slot is closer to another than the spacing in force when it was given, whatever happens', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
      let book: LineBook = EMPTY_BOOK;
      let limits: LineLimits = { ...NO_LIMITS, requestsPerSecond: 10 };
      let now = NOW;
      let given: number[] = [];
      for (const step of steps) {
        now += step.afterMs;
        if (step.limits !== null) limits = step.limits;
        const { book: next, share } = reserve(book, step.process, askOf(limits, step.demands), now);
        const spacing = linePace(limits)?.spacingMs ?? 0;
        // What was reserved far ahead under another limit is forgotten together with that limit.
        const reachMs = Math.max(1.5 * LEASE_MS, spacing);
        if (spacing > 0) given = given.filter((time) => time <= now + 2 * reachMs);
        for (const slot of share.slots) {
          const time = now + slot;
          assert.ok(time >= now);
          for (const other of given) {
            assert.ok(Math.abs(time - other) >= spacing - 0.01, `${other} and ${time}, ${spacing} apart`);
          }
          given.push(time);
        }
        book = roundTrip(next);
      }
    }),
    { numRuns: sized({ quick: 300, slow: 5000 }) },
  );
});

test('places never add up to more than the limit in force, however late a process renews', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(anyStep, { maxLength: 60 }), (limit, steps) => {
      let book: LineBook = EMPTY_BOOK;
      let now = NOW;
      const live = new Map<string, { places: number; until: number }>();
      for (const { process, afterMs, demands, filled } of steps) {
        now += afterMs;
        const had = live.get(process);
        // A process whose lease has ended lets no request in; what is still inside then is not tested here.
        const inside = had !== undefined && had.until > now ? Math.floor(filled * had.places) : 0;
        const { book: next, share } = reserve(book, process, askOf({ maxConcurrent: limit }, demands, inside), now);
        book = roundTrip(next);
        live.set(process, { places: Math.max(share.places ?? 0, inside), until: now + share.heldMs });
        const sum = [...live.values()].reduce((all, { places, until }) => all + (until > now ? places : 0), 0);
        assert.ok(sum <= limit, `${sum} of ${limit}`);
        assert.ok(next.holders.length <= 5);
        assert.ok((share.parts.length === 0 ? 1 : share.parts.reduce((all, [, part]) => all + part, 0)) > 0.999);
      }
    }),
    { numRuns: sized({ quick: 300, slow: 5000 }) },
  );
});

test('a clock that is set anywhere never makes a line give out more than one lease too much', () => {
  const jumps = fc.array(fc.tuple(anyStep, fc.constantFrom(0, 0, 0, -500, -60_000, -86_400_000)), { maxLength: 60 });
  fc.assert(
    fc.property(jumps, (steps) => {
      let book: LineBook = EMPTY_BOOK;
      let now = NOW;
      for (const [{ process, afterMs, demands }, jump] of steps) {
        now += afterMs + jump;
        const { book: next, share } = reserve(book, process, askOf({ requestsPerSecond: 10 }, demands), now);
        assert.ok(share.slots.length <= 16, `${share.slots.length} slots in a lease`);
        assert.ok(packLineBook(next).length < 1500);
        book = next;
      }
    }),
    { numRuns: sized({ quick: 200, slow: 3000 }) },
  );
});

test('the book of a hundred processes with two jobs fits in ten kilobytes', () => {
  let book: LineBook = EMPTY_BOOK;
  for (let at = 0; at < 100; at += 1) {
    const name = `ip-10-0-0-${at}-4711-01jd0000000000000000000000`;
    const ask = askOf({ maxConcurrent: 16, requestsPerSecond: 40 }, [demand('county-2026', 3), demand('other', 2)]);
    ({ book } = reserve(book, name, ask, NOW + at));
  }
  assert.ok(packLineBook(book).length < 10_240, `${packLineBook(book).length} characters`);
});

const NO_NEWS: LineNews = {
  ...{ good: 0, goodMs: null, refusal: null, failures: 0, failingMs: 0, failedMs: 0, pauses: 0, pausedMs: 0 },
};

test('a pace that rises leaves nine tenths of its slots usable, whichever process gets them', () => {
  const ask = askOf({ maxConcurrent: 16 }, [demand('a', 5)]);
  const refusal = { agoMs: 0, acceptedPerSecond: 10, latencyMs: 100 };
  let { book } = reserve(EMPTY_BOOK, 'w1', { ...ask, news: { ...NO_NEWS, refusal } }, NOW);
  let given = 0;
  let allowed = 0;
  for (let second = 0; second < 60; second += 1) {
    for (const [at, name] of ['w1', 'w2', 'w3', 'w4'].entries()) {
      const news = { ...NO_NEWS, good: 2, goodMs: 0 };
      const answer = reserve(book, name, { ...ask, news }, NOW + 1000 * second + 250 * at);
      book = roundTrip(answer.book);
      given += answer.share.slots.length;
      allowed += (answer.share.health?.limits.requestsPerSecond ?? 0) / 4;
    }
  }
  assert.ok(given > 0.9 * allowed && given < 1.1 * allowed, `${given} of ${allowed} slots`);
});

test('what is known of a host outlives the leases of those who found it, and its row by an hour', () => {
  const ask = askOf({ maxConcurrent: 16 }, [demand('a', 5)]);
  const refusal = { agoMs: 0, acceptedPerSecond: 10, latencyMs: 100 };
  const news = { ...NO_NEWS, refusal, failures: 2, failingMs: 30, failedMs: 10, pauses: 1, pausedMs: 700 };
  const { book } = reserve(EMPTY_BOOK, 'w1', { ...ask, news }, NOW);
  assert.deepEqual(roundTrip(book).health, book.health);
  assert.ok(bookEndsAt(book) > NOW + 3_600_000);
  const later = reserve(roundTrip(book), 'w2', ask, NOW + 3_000_000);
  assert.deepEqual([later.book.holders.length, later.share.health?.pauses], [1, 1]);
});

test('the row of a host that has shown its pace is longer by less than 60 bytes', () => {
  const ask = askOf({ maxConcurrent: 16 }, [demand('a', 5)]);
  const refusal = { agoMs: 3.7, acceptedPerSecond: 10 / 3, latencyMs: 100 };
  const { book } = reserve(EMPTY_BOOK, 'w1', { ...ask, news: { ...NO_NEWS, refusal } }, NOW + 0.3);
  const bytes = packLineBook(book).length - packLineBook({ ...book, health: null }).length;
  assert.ok(bytes < 60, `${bytes} bytes`);
  const pace = hearHealth(book.health, NOW)?.limits.requestsPerSecond;
  assert.equal(hearHealth(roundTrip(book).health, NOW)?.limits.requestsPerSecond, pace);
});

test('a book that an earlier version wrote says that the host is well', () => {
  const book = unpackLineBook('[1,null,["j1"],1000,[["w1",0,4,0,0,null,[[0,1,9,9]]]]]');
  assert.deepEqual([book?.health, book?.holders.length], [null, 1]);
});
