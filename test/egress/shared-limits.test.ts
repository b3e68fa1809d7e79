import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MIN_SHARED_PAUSE_MS } from '../../src/domain/host-pause.ts';
import { NO_LIMITS } from '../../src/domain/host-settings.ts';
import { PoliteHostGate } from '../../src/egress/polite-host-gate.ts';
import type { HostShares } from '../../src/ports/host-shares.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryHostShares } from '../support/memory/host-shares.ts';

const LEASE_MS = 1000;
const HOST = 'county.gov';
const FORTY = { requestsPerSecond: 40, maxConcurrent: 100, minDelayMs: null };
const FOREVER = new AbortController().signal;

/** Worker processes that keep the limits of a host together, and what the host sees. */
class Fleet {
  readonly clock = new FakeClock();
  readonly starts: { readonly at: number; readonly job: string; readonly process: string }[] = [];
  readonly reservations: { readonly at: number; readonly process: string; readonly line: string }[] = [];
  readonly errors: unknown[] = [];
  inside = 0;
  most = 0;
  isStorageDown = false;
  /** How long the answer to a reservation is under way after it took effect. */
  answerMs = 0;
  readonly #memory = openMemoryHostShares();
  readonly #gates = new Map<string, { gate: PoliteHostGate; stop: AbortController }>();

  readonly shares: HostShares = {
    reserve: async (process, asks, now) => {
      if (this.isStorageDown) throw new Error('the storage is down');
      for (const { line } of asks) this.reservations.push({ at: this.clock.elapsed(), process, line });
      const shares = await this.#memory.reserve(process, asks, now);
      if (this.answerMs > 0) await this.clock.sleep(this.answerMs);
      return shares;
    },
  };

  gate(process: string): PoliteHostGate {
    const known = this.#gates.get(process);
    if (known !== undefined) return known.gate;
    const onError = (_: string, error: unknown) => this.errors.push(error);
    const gate = new PoliteHostGate({
      clock: this.clock,
      onHold: (host, ms, why) => this.#tellOthers(gate, host, ms, why),
      shared: { shares: this.shares, process, leaseMs: LEASE_MS, onError },
    });
    this.#gates.set(process, { gate, stop: new AbortController() });
    return gate;
  }

  /** Starts this many callers of a job in a process, each of which visits the host again and again. */
  visit(process: string, job: string, callers: number, requestMs: number, host = HOST): void {
    const gate = this.gate(process);
    const { signal } = this.#gates.get(process)?.stop ?? new AbortController();
    for (let at = 0; at < callers; at += 1) void this.#visitFor(gate, process, job, requestMs, host, signal);
  }

  /** The process is gone; its requests end by themselves. */
  kill(process: string): void {
    this.#gates.get(process)?.stop.abort('killed');
    this.#gates.get(process)?.gate.close();
  }

  async stop(): Promise<void> {
    for (const process of this.#gates.keys()) this.kill(process);
    await this.clock.advance(60_000);
  }

  count(from: number, to: number, by: { job?: string; process?: string } = {}): number {
    return this.starts.filter(
      ({ at, job, process }) => at >= from && at < to && job === (by.job ?? job) && process === (by.process ?? process),
    ).length;
  }

  /** Long pauses go another way (`SharedPauses`). */
  #tellOthers(from: PoliteHostGate, host: string, ms: number, why: string): void {
    if (ms < MIN_SHARED_PAUSE_MS) return;
    for (const { gate } of this.#gates.values()) if (gate !== from) gate.keepAway(host, ms, why);
  }

  async #visitFor(
    gate: PoliteHostGate,
    process: string,
    job: string,
    requestMs: number,
    host: string,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      const leave = await gate.enter(host, Number.POSITIVE_INFINITY, signal, job).catch(() => null);
      if (leave === null) return;
      this.starts.push({ at: this.clock.elapsed(), job, process });
      this.inside += 1;
      this.most = Math.max(this.most, this.inside);
      await this.clock.sleep(requestMs);
      this.inside -= 1;
      leave();
    }
  }
}

function near(actual: number, expected: number, share: number): void {
  assert.ok(Math.abs(actual - expected) <= expected * share, `${actual} is not within ${share} of ${expected}`);
}

test('processes keep the rate of a host together and share it between jobs, with one reservation per lease', async () => {
  const fleet = new Fleet();
  const processes = ['w1', 'w2', 'w3', 'w4'];
  for (const process of processes) fleet.gate(process).setLimits(HOST, FORTY);
  for (const process of processes) {
    fleet.visit(process, 'a', 8, 100);
    fleet.visit(process, 'b', 3, 100);
  }
  await fleet.clock.advance(30_000);
  fleet.kill('w1');
  fleet.gate('w5').setLimits(HOST, FORTY);
  fleet.visit('w5', 'a', 8, 100);
  fleet.visit('w5', 'b', 3, 100);
  await fleet.clock.advance(30_000);
  const end = fleet.clock.elapsed();

  for (let from = 0; from + 10_000 <= end; from += 500) {
    const seen = fleet.count(from, from + 10_000);
    assert.ok(seen <= 420, `${seen} requests in ten seconds from ${from}`);
  }
  near(fleet.count(10_000, 30_000), 800, 0.05);
  near(fleet.count(40_000, 60_000), 800, 0.05);
  near(fleet.count(10_000, 60_000, { job: 'a' }), fleet.count(10_000, 60_000, { job: 'b' }), 0.1);
  near(fleet.count(45_000, 60_000, { process: 'w5' }), fleet.count(45_000, 60_000, { process: 'w2' }), 0.2);
  const steady = fleet.reservations.filter(({ at, process }) => at >= 10_000 && at < 30_000 && process === 'w2');
  assert.ok(steady.length <= 21, `${steady.length} reservations of one process in twenty leases`);
  await fleet.stop();
});

test('processes never have more requests under way than a host allows, and dead ones give places back', async () => {
  const fleet = new Fleet();
  for (const process of ['w1', 'w2', 'w3']) fleet.visit(process, 'a', 16, 50);
  await fleet.clock.advance(20_000);
  assert.equal(fleet.most, 16);
  near(fleet.count(10_000, 20_000), 3200, 0.1);
  fleet.kill('w1');
  fleet.kill('w2');
  await fleet.clock.advance(20_000);
  assert.equal(fleet.most, 16);
  near(fleet.count(30_000, 40_000), 3200, 0.1);
  await fleet.stop();
});

test('a place that is given to another process is not filled while the answer is under way', async () => {
  const fleet = new Fleet();
  const one = fleet.gate('w1');
  for (const gate of [one, fleet.gate('w2')]) gate.setLimits(HOST, { ...NO_LIMITS, maxConcurrent: 1 });
  const entered: string[] = [];
  const enter = async (gate: PoliteHostGate, name: string) => {
    const leave = await gate.enter(HOST, Number.POSITIVE_INFINITY, FOREVER, 'a');
    entered.push(name);
    return leave;
  };
  for (const name of ['first', 'second', 'third', 'fourth']) {
    (await enter(one, name))();
    await fleet.clock.advance(200);
  }
  // When it asks again no caller is inside, so the place is given up. A caller comes before the answer is there.
  fleet.answerMs = 150;
  const other = enter(fleet.gate('w2'), 'of the other process');
  await fleet.clock.advance(250);
  const late = enter(one, 'late');
  await fleet.clock.advance(1000);
  assert.equal(entered.length, 5, entered.join(', '));
  for (const entering of [late, other]) {
    (await entering)();
    await fleet.clock.advance(5000);
  }
  await fleet.stop();
});

test('requests of different processes are a minimum delay apart', async () => {
  const fleet = new Fleet();
  for (const process of ['w1', 'w2', 'w3']) {
    fleet.gate(process).setMinDelay(HOST, 200);
    fleet.visit(process, 'a', 3, 30);
  }
  await fleet.clock.advance(30_000);
  const gaps = fleet.starts.slice(1).map(({ at }, index) => at - (fleet.starts[index]?.at ?? 0));
  assert.ok(Math.min(...gaps) >= 200, `${Math.min(...gaps)} ms`);
  near(fleet.starts.length, 142, 0.1);
  await fleet.stop();
});

test('a job keeps its own rate over all hosts and processes, and holds up no other job', async () => {
  const fleet = new Fleet();
  for (const process of ['w1', 'w2']) {
    fleet.gate(process).setJobLimits('slow', { weight: 1, requestsPerSecond: 5, itemDelayMs: 0 });
    for (const host of ['a.gov', 'b.gov']) {
      fleet.visit(process, 'slow', 4, 50, host);
      fleet.visit(process, 'fast', 2, 50, host);
    }
  }
  await fleet.clock.advance(30_000);
  near(fleet.count(10_000, 30_000, { job: 'slow' }), 100, 0.05);
  near(fleet.count(10_000, 30_000, { job: 'fast' }), 3200, 0.1);
  await fleet.stop();
});

test('a job that gets a rate of its own keeps it at once, even for requests that are waiting already', async () => {
  const fleet = new Fleet();
  const gate = fleet.gate('w1');
  gate.setLimits(HOST, { ...FORTY, requestsPerSecond: 5 });
  // Thirty callers at five requests per second: each waits for six seconds.
  fleet.visit('w1', 'a', 30, 50);
  await fleet.clock.advance(20_000);
  near(fleet.count(10_000, 20_000), 50, 0.1);
  gate.setJobLimits('a', { weight: 1, requestsPerSecond: 0.5, itemDelayMs: 0 });
  await fleet.clock.advance(20_000);
  assert.ok(fleet.count(20_000, 40_000) <= 11, `${fleet.count(20_000, 40_000)} requests in twenty seconds`);
  await fleet.stop();
});

test('requests that wait for the rate of their job go out sooner when it is raised', async () => {
  const fleet = new Fleet();
  const gate = fleet.gate('w1');
  gate.setJobLimits('a', { weight: 1, requestsPerSecond: 0.01, itemDelayMs: 0 });
  fleet.visit('w1', 'a', 10, 50);
  await fleet.clock.advance(20_000);
  assert.equal(fleet.starts.length, 1);
  gate.setJobLimits('a', { weight: 1, requestsPerSecond: 10, itemDelayMs: 0 });
  await fleet.clock.advance(100);
  assert.equal(fleet.starts.length, 2, 'the first at once, the others from the next lease on');
  await fleet.clock.advance(2000);
  assert.ok(fleet.starts.length >= 7, `${fleet.starts.length} requests after two seconds`);
  await fleet.stop();
});

test('the items of a job begin a delay apart, whichever process begins them', async () => {
  const fleet = new Fleet();
  const begun: number[] = [];
  for (const process of ['w1', 'w2']) {
    const gate = fleet.gate(process);
    assert.equal(gate.paceItem('a', FOREVER), null);
    gate.setJobLimits('a', { weight: 1, requestsPerSecond: null, itemDelayMs: 500 });
    void (async () => {
      for (let items = 0; items < 10; items += 1) {
        await gate.paceItem('a', FOREVER);
        begun.push(fleet.clock.elapsed());
      }
    })();
  }
  await fleet.clock.advance(20_000);
  assert.equal(begun.length, 20);
  const gaps = begun.slice(1).map((at, index) => at - (begun[index] ?? 0));
  assert.ok(Math.min(...gaps) >= 500, `${Math.min(...gaps)} ms`);
  near((begun.at(-1) ?? 0) - (begun[0] ?? 0), 19 * 525, 0.15);
  await fleet.stop();
});

test('nothing is reserved for a host without visitors', async () => {
  const fleet = new Fleet();
  (await fleet.gate('w1').enter(HOST, 0, FOREVER, 'a'))();
  await fleet.clock.advance(60_000);
  assert.equal(fleet.reservations.length, 1);
  assert.equal(fleet.clock.sleepers, 0);
});

test('a request that begins shortly before its lease ends stays reserved', async () => {
  const fleet = new Fleet();
  const [one, other] = [fleet.gate('w1'), fleet.gate('w2')];
  for (const gate of [one, other]) gate.setLimits(HOST, { ...NO_LIMITS, maxConcurrent: 1 });
  const first = one.enter(HOST, Number.POSITIVE_INFINITY, FOREVER, 'a');
  await fleet.clock.advance(100);
  (await first)();
  await fleet.clock.advance(1300);
  const leave = await one.enter(HOST, Number.POSITIVE_INFINITY, FOREVER, 'a');
  let isIn = false;
  const waiting = other.enter(HOST, Number.POSITIVE_INFINITY, FOREVER, 'a').then((leaveOther) => {
    isIn = true;
    leaveOther();
  });
  await fleet.clock.advance(10_000);
  assert.equal(isIn, false);
  leave();
  await fleet.clock.advance(10_000);
  await waiting;
  await fleet.stop();
});

test('requests of minutes stay reserved as long as they take', async () => {
  const fleet = new Fleet();
  fleet.visit('w1', 'a', 16, 100_000);
  await fleet.clock.advance(1);
  fleet.visit('w2', 'b', 4, 100);
  await fleet.clock.advance(90_000);
  assert.equal(fleet.most, 16);
  await fleet.stop();
});

test('a process that cannot reserve goes on with half of what it had, then waits, and recovers', async () => {
  const fleet = new Fleet();
  fleet.visit('w1', 'a', 20, 100);
  await fleet.clock.advance(10_000);
  near(fleet.count(5000, 10_000), 800, 0.05);
  fleet.isStorageDown = true;
  await fleet.clock.advance(60_000);
  near(fleet.count(15_000, 30_000), 1200, 0.1);
  assert.equal(fleet.count(45_000, 70_000), 0);
  assert.equal(fleet.errors.length, 1);
  fleet.isStorageDown = false;
  await fleet.clock.advance(10_000);
  near(fleet.count(75_000, 80_000), 800, 0.1);
  await fleet.stop();
});

test('a limit that is changed holds within a lease', async () => {
  const fleet = new Fleet();
  for (const process of ['w1', 'w2']) fleet.visit(process, 'a', 8, 100);
  await fleet.clock.advance(5000);
  for (const process of ['w1', 'w2']) fleet.gate(process).setLimits(HOST, { ...NO_LIMITS, requestsPerSecond: 10 });
  await fleet.clock.advance(10_000);
  near(fleet.count(6500, 15_000), 85, 0.12);
  for (const process of ['w1', 'w2']) fleet.gate(process).setLimits(HOST, null);
  await fleet.clock.advance(10_000);
  near(fleet.count(17_000, 25_000), 1280, 0.1);
  await fleet.stop();
});

/** A host that accepts this many requests in any second; the process that gets a refusal notes it. */
async function visitStrict(fleet: Fleet, perSecond: number, process: string, callers: number): Promise<void> {
  const gate = fleet.gate(process);
  for (let at = 0; at < callers; at += 1) {
    void (async () => {
      while (fleet.clock.elapsed() < 300_000) {
        const leave = await gate.enter(HOST, Number.POSITIVE_INFINITY, FOREVER, 'a');
        const now = fleet.clock.elapsed();
        const isAccepted = fleet.count(now - 1000, now + 1, { job: 'accepted' }) < perSecond;
        fleet.starts.push({ at: now, job: isAccepted ? 'accepted' : 'refused', process });
        await fleet.clock.sleep(isAccepted ? 200 : 20);
        leave();
        gate.noteAnswer(HOST, isAccepted ? 'good' : 'refused', '429');
      }
    })();
  }
}

test('processes find the pace of a host together, and use it together', async () => {
  const fleet = new Fleet();
  for (const process of ['w1', 'w2', 'w3', 'w4']) void visitStrict(fleet, 10, process, 4);
  await fleet.clock.advance(310_000);
  const accepted = fleet.count(60_000, 300_000, { job: 'accepted' });
  const refused = fleet.count(60_000, 300_000, { job: 'refused' });
  assert.ok(accepted > 0.75 * 2400, `${accepted} of 2400 requests`);
  assert.ok(refused < 0.01 * accepted, `${refused} were refused`);
  const writes = fleet.reservations.filter(
    ({ at, process }) => at >= 60_000 && at < 300_000 && process === 'w1',
  ).length;
  assert.ok(writes <= 245, `${writes} reservations of one process in 240 leases`);
  await fleet.stop();
});

test('a short pause that one process was asked for holds for all of them within a lease', async () => {
  const fleet = new Fleet();
  for (const process of ['w1', 'w2', 'w3']) fleet.visit(process, 'a', 4, 100);
  await fleet.clock.advance(5000);
  fleet.gate('w1').hold(HOST, 5000, '429, retry after 5 s');
  await fleet.clock.advance(10_000);
  assert.equal(fleet.count(7100, 9900), 0);
  assert.ok(fleet.count(10_000, 15_000) > 100);
  await fleet.stop();
});

test('a host that goes away is probed by one process at a time, and open to all as soon as it answers', async () => {
  const fleet = new Fleet();
  const seen: { readonly at: number; readonly isGood: boolean }[] = [];
  const isDown = (now: number) => now >= 10_000 && now < 200_000;
  for (const process of ['w1', 'w2', 'w3', 'w4', 'w5', 'w6']) {
    const gate = fleet.gate(process);
    for (let at = 0; at < 3; at += 1) {
      void (async () => {
        while (fleet.clock.elapsed() < 400_000) {
          const leave = await gate.enter(HOST, Number.POSITIVE_INFINITY, FOREVER, 'a');
          const isGood = !isDown(fleet.clock.elapsed());
          seen.push({ at: fleet.clock.elapsed(), isGood });
          await fleet.clock.sleep(500);
          leave();
          gate.noteAnswer(HOST, isGood ? 'good' : 'away', 'connection refused');
        }
      })();
    }
  }
  await fleet.clock.advance(410_000);
  const failed = seen.filter(({ isGood }) => !isGood);
  assert.ok(failed.length < 60, `${failed.length} requests while the host was down`);
  const probes = failed.filter(({ at }) => at > 20_000);
  assert.ok(probes.length <= 8, `${probes.length} probes: ${probes.map(({ at }) => at).join(', ')}`);
  const backAt = seen.find(({ at, isGood }) => isGood && at > 200_000)?.at ?? 0;
  assert.ok(seen.filter(({ at }) => at > backAt + 5000 && at < backAt + 15_000).length > 200);
  await fleet.stop();
});

test('a host without limits is never reserved, and refusals there set no timers', async () => {
  const fleet = new Fleet();
  const shared = { shares: fleet.shares, process: 'w1', leaseMs: LEASE_MS, onError: () => assert.fail() };
  const gate = new PoliteHostGate({ clock: fleet.clock, maxConcurrent: null, shared });
  (await gate.enter(HOST, 0, FOREVER, 'a'))();
  gate.noteAnswer(HOST, 'refused', '429');
  assert.equal(gate.isOpen(HOST, 'a'), false);
  assert.equal(fleet.clock.sleepers, 0);
  await fleet.clock.advance(60_000);
  assert.equal(fleet.reservations.length, 0);
});

test('what a process has to report is not lost when it cannot reserve for a while', async () => {
  const fleet = new Fleet();
  for (const process of ['w1', 'w2']) fleet.visit(process, 'a', 4, 100);
  await fleet.clock.advance(10_000);
  fleet.isStorageDown = true;
  fleet.gate('w1').noteAnswer(HOST, 'refused', '429');
  await fleet.clock.advance(5000);
  fleet.isStorageDown = false;
  await fleet.clock.advance(10_000);
  // Both did 80 per second before.
  const rate = fleet.count(20_000, 25_000, { process: 'w2' }) / 5;
  assert.ok(rate < 35, `${rate} requests per second of the process that was not refused`);
  await fleet.stop();
});
