import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { type Lookup, openResolver, type Resolver } from '../../src/egress/resolver.ts';
import { FakeClock } from '../support/fake-clock.ts';

const NEVER = new AbortController().signal;
const PUBLIC = '93.184.216.34';
const OTHER = '2606:4700::1111';

/** A DNS whose answers are set beforehand; the last one is repeated. It records the names that are asked for. */
function scripted(...answers: readonly (readonly string[] | Error | Promise<readonly string[]>)[]) {
  const asked: string[] = [];
  const lookup: Lookup = async (hostname) => {
    asked.push(hostname);
    const answer = await answers[Math.min(asked.length, answers.length) - 1];
    if (answer instanceof Error) throw answer;
    return (answer ?? []).map((address) => ({ address }));
  };
  return { asked, lookup };
}

function open(lookup: Lookup, allowed = '') {
  const clock = new FakeClock();
  const rules = new AddressRules(parseAddressRanges(allowed));
  return { clock, resolver: openResolver({ rules, lookup, clock }) };
}

async function told(resolver: Resolver, hostname: string): Promise<string> {
  const answer = await resolver.resolve(hostname, NEVER, 1000);
  if (answer.kind === 'resolved') return answer.addresses.map(({ address }) => address).join(' ');
  return `${answer.failure.type}: ${answer.failure.message}`;
}

test('a name comes back with all of its addresses in their order, each with its family', async () => {
  const { resolver } = open(scripted([OTHER, PUBLIC]).lookup);
  assert.deepEqual(await resolver.resolve('example.gov', NEVER, 1000), {
    kind: 'resolved',
    addresses: [
      { address: OTHER, family: 6 },
      { address: PUBLIC, family: 4 },
    ],
  });
});

test('an address is judged without a lookup', async () => {
  const { asked, lookup } = scripted([PUBLIC]);
  const { resolver } = open(lookup, '10.0.0.0/8');
  assert.equal(
    await told(resolver, '127.0.0.1'),
    'refused_address: 127.0.0.1 is a loopback address (TRAWL_ALLOW_ADDRESSES may allow it)',
  );
  assert.equal(
    await told(resolver, '::1'),
    'refused_address: ::1 is a loopback address (TRAWL_ALLOW_ADDRESSES may allow it)',
  );
  assert.match(await told(resolver, 'fe80::1%lo'), /^refused_address: .*interface/);
  assert.equal(await told(resolver, '10.1.2.3'), '10.1.2.3');
  assert.deepEqual(asked, []);
});

test('a name is refused if any one of its addresses is, with host, address and reason', async () => {
  for (const answer of [['127.0.0.1'], [PUBLIC, '127.0.0.1'], ['127.0.0.1', PUBLIC], [PUBLIC, OTHER, '127.0.0.1']]) {
    const { resolver } = open(scripted(answer).lookup);
    assert.equal(
      await told(resolver, 'rebind.test'),
      'refused_address: rebind.test is refused: 127.0.0.1 is a loopback address (TRAWL_ALLOW_ADDRESSES may allow it)',
    );
  }
  for (const address of ['::ffff:10.0.0.1', 'fe80::1%eth0', '127.1', '']) {
    const { resolver } = open(scripted([PUBLIC, address]).lookup);
    assert.match(await told(resolver, 'rebind.test'), /^refused_address/, address);
  }
});

test('an answer that changes is judged again each time it is asked for, and never used unjudged', async () => {
  const { asked, lookup } = scripted([PUBLIC], ['169.254.169.254'], [PUBLIC]);
  const { clock, resolver } = open(lookup);
  assert.equal(await told(resolver, 'rebind.test'), PUBLIC);
  await clock.advance(9_999);
  assert.equal(await told(resolver, 'rebind.test'), PUBLIC);
  assert.equal(asked.length, 1);
  await clock.advance(1);
  assert.match(await told(resolver, 'rebind.test'), /^refused_address: .*169\.254\.169\.254/);
  // A refusal is remembered too: the next answer is not asked for until its time is over.
  assert.match(await told(resolver, 'rebind.test'), /^refused_address/);
  assert.equal(asked.length, 2);
  await clock.advance(10_000);
  assert.equal(await told(resolver, 'rebind.test'), PUBLIC);
});

test('callers that ask for the same name at the same time share one lookup', async () => {
  const gate = Promise.withResolvers<readonly string[]>();
  const { asked, lookup } = scripted(gate.promise);
  const { resolver } = open(lookup);
  const waiting = ['a.test', 'a.test', 'b.test', 'a.test'].map((name) => told(resolver, name));
  gate.resolve([PUBLIC]);
  assert.deepEqual(await Promise.all(waiting), [PUBLIC, PUBLIC, PUBLIC, PUBLIC]);
  assert.deepEqual(asked, ['a.test', 'b.test']);
});

test('a caller that gives up does not take the shared answer from the others', async () => {
  const gate = Promise.withResolvers<readonly string[]>();
  const { resolver } = open(scripted(gate.promise).lookup);
  const impatient = new AbortController();
  const first = resolver.resolve('a.test', impatient.signal, 1000);
  const second = told(resolver, 'a.test');
  impatient.abort(new Error('cancelled'));
  await assert.rejects(first, /cancelled/);
  gate.resolve([PUBLIC]);
  assert.equal(await second, PUBLIC);
});

test('a caller whose signal has already aborted gets its reason, and no lookup is made', async () => {
  const { asked, lookup } = scripted([PUBLIC]);
  const { resolver } = open(lookup);
  await assert.rejects(resolver.resolve('a.test', AbortSignal.abort(new Error('cancelled')), 1000), /cancelled/);
  await assert.rejects(resolver.resolve(PUBLIC, AbortSignal.abort(new Error('cancelled')), 1000), /cancelled/);
  assert.deepEqual(asked, []);
});

test('a lookup that takes too long is a timeout, and its late answer serves the next caller', async () => {
  const gate = Promise.withResolvers<readonly string[]>();
  const { asked, lookup } = scripted(gate.promise);
  const { clock, resolver } = open(lookup);
  const waiting = told(resolver, 'slow.test');
  await clock.advance(1000);
  assert.equal(await waiting, 'timeout: the lookup of slow.test took longer than 1000 ms');
  assert.equal(clock.sleepers, 0);
  gate.resolve([PUBLIC]);
  assert.equal(await told(resolver, 'slow.test'), PUBLIC);
  assert.equal(asked.length, 1);
});

test('a lookup that never ends does not hold up newcomers for ever', async () => {
  const { asked, lookup } = scripted(new Promise<readonly string[]>(() => {}), [PUBLIC]);
  const { clock, resolver } = open(lookup);
  const waiting = told(resolver, 'stuck.test');
  await clock.advance(30_000);
  assert.match(await waiting, /^timeout/);
  assert.equal(await told(resolver, 'stuck.test'), PUBLIC);
  assert.equal(asked.length, 2);
});

test('a lookup that fails is a network error with its code, and the next caller tries it again', async () => {
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND gone.test'), { code: 'ENOTFOUND' });
  const { lookup } = scripted(unknown, [], [PUBLIC]);
  const { resolver } = open(lookup);
  assert.equal(await told(resolver, 'gone.test'), 'network_error: the lookup of gone.test failed (ENOTFOUND)');
  assert.equal(await told(resolver, 'gone.test'), 'network_error: gone.test has no address');
  assert.equal(await told(resolver, 'gone.test'), PUBLIC);
});

test('an answer that comes after a newer one is forgotten', async () => {
  const gate = Promise.withResolvers<readonly string[]>();
  const { asked, lookup } = scripted(gate.promise, [PUBLIC]);
  const { clock, resolver } = open(lookup);
  const waiting = told(resolver, 'stuck.test');
  await clock.advance(30_000);
  await waiting;
  assert.equal(await told(resolver, 'stuck.test'), PUBLIC);
  gate.resolve([OTHER]);
  await clock.turn();
  assert.equal(await told(resolver, 'stuck.test'), PUBLIC);
  assert.equal(asked.length, 2);
});

test('nothing is left sleeping or listening when the answer is there', async () => {
  const { clock, resolver } = open(scripted([PUBLIC]).lookup);
  const { signal } = new AbortController();
  await resolver.resolve('a.test', signal, 1000);
  assert.equal(clock.sleepers, 0);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('a thousand names are remembered, and the oldest is forgotten for the next', async () => {
  const { asked, lookup } = scripted([PUBLIC]);
  const { resolver } = open(lookup);
  for (let at = 0; at <= 1000; at += 1) await told(resolver, `host-${at}.test`);
  assert.equal(asked.length, 1001);
  await told(resolver, 'host-1.test');
  assert.equal(asked.length, 1001);
  await told(resolver, 'host-0.test');
  assert.equal(asked.length, 1002);
});

test('a lookup that no server answered is a timeout', async () => {
  const silent = Object.assign(new Error('queryA ETIMEOUT silent.test'), { code: 'ETIMEOUT' });
  const { resolver } = open(scripted(silent).lookup);
  assert.equal(await told(resolver, 'silent.test'), 'timeout: no DNS server answered for silent.test');
});

test('a name that hung is asked for again, but waited for only briefly, until it answers', async () => {
  const gate = Promise.withResolvers<readonly string[]>();
  const { asked, lookup } = scripted(gate.promise);
  const { clock, resolver } = open(lookup);
  const waitedFor = async (hostname: string, ms: number) => {
    let end: string | null = null;
    const patient = resolver.resolve(hostname, NEVER, 10_000).then((answer) => {
      end = answer.kind === 'failed' ? answer.failure.type : answer.kind;
    });
    await clock.advance(ms - 1);
    assert.equal(end, null, `an answer before ${ms} ms`);
    await clock.advance(1);
    await patient;
    return end;
  };
  assert.equal(await waitedFor('hangs.test', 10_000), 'timeout');
  for (let item = 0; item < 5; item += 1) assert.equal(await waitedFor('hangs.test', 1000), 'timeout');
  // Other names are not affected.
  assert.equal(await waitedFor('other.test', 10_000), 'timeout');
  assert.deepEqual(asked, ['hangs.test', 'other.test'], 'those who wait share one lookup');
  gate.resolve([PUBLIC]);
  assert.equal(await told(resolver, 'hangs.test'), PUBLIC);
});

test('a name that hung is forgotten after a minute, and a thousand such names are remembered', async () => {
  const { lookup } = scripted(new Promise<readonly string[]>(() => {}));
  const { clock, resolver } = open(lookup);
  const names = Array.from({ length: 1001 }, (_, at) => `hangs-${at}.test`);
  const all = Promise.all(names.map((name) => resolver.resolve(name, NEVER, 10_000)));
  await clock.advance(10_000);
  await all;
  const patience = async (name: string) => {
    const before = clock.elapsed();
    const answer = resolver.resolve(name, NEVER, 10_000).then(() => clock.elapsed() - before);
    await clock.advance(10_000);
    return answer;
  };
  assert.equal(await patience('hangs-0.test'), 10_000, 'the oldest made room for the newest');
  assert.equal(await patience('hangs-1000.test'), 1000);
  await clock.advance(60_000);
  assert.equal(await patience('hangs-1000.test'), 10_000);
});

test('a job with little patience does not make a slow name one that hangs', async () => {
  const gate = Promise.withResolvers<readonly string[]>();
  const { clock, resolver } = open(scripted(gate.promise).lookup);
  const hasty = resolver.resolve('slow.test', NEVER, 100);
  await clock.advance(100);
  assert.equal((await hasty).kind, 'failed');
  const patient = told(resolver, 'slow.test');
  await clock.advance(999);
  gate.resolve([PUBLIC]);
  assert.equal(await patient, PUBLIC);
});
