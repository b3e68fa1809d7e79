import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseDnsServers } from '../../src/egress/dns-servers.ts';
import { parseHosts } from '../../src/egress/hosts-file.ts';
import { type NameLookupDeps, openNameLookup } from '../../src/egress/name-lookup.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Answers, startDns } from './dns-server.ts';

const FOUR = '93.184.216.34';
const SIX = '2606:4700::1111';
const NO_FILE = '/nonexistent/hosts';

async function open(t: TestContext, answers: Answers, parts: Partial<NameLookupDeps> = {}) {
  const asked: string[] = [];
  const dns = await startDns('127.0.0.1');
  dns.answerWith((name, count, type) => {
    asked.push(`${type} ${name}`);
    return answers(name, count, type);
  });
  const clock = new FakeClock();
  const names = openNameLookup({ clock, servers: [dns.address], hostsFile: NO_FILE, ...parts });
  t.after(async () => {
    names.close();
    await dns[Symbol.asyncDispose]();
  });
  const told = async (name: string) =>
    names.lookup(name).then(
      (found) => found.map(({ address }) => address).sort(),
      (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
    );
  return { clock, asked, told, names };
}

async function turnsUntil(clock: FakeClock, isSo: () => boolean): Promise<void> {
  while (!isSo()) await clock.turn();
}

test('a name has its addresses of both families, whatever its case, with a dot at its end or without', async (t) => {
  const { told, asked } = await open(t, () => [FOUR, SIX]);
  for (const name of ['County.Gov', 'county.gov.']) assert.deepEqual(await told(name), [SIX, FOUR].sort());
  assert.deepEqual([...new Set(asked)].sort(), ['A county.gov', 'AAAA county.gov']);
});

test('an answer is not kept: each lookup asks again', async (t) => {
  const { told } = await open(t, (_, count) => [count === 0 ? FOUR : '93.184.216.35']);
  assert.deepEqual(await told('changing.test'), [FOUR]);
  assert.deepEqual(await told('changing.test'), ['93.184.216.35']);
});

test('a name with addresses of only one family does not need the other', async (t) => {
  const { told } = await open(t, (name) => [name === 'four.test' ? FOUR : SIX]);
  assert.deepEqual(await told('four.test'), [FOUR]);
  assert.deepEqual(await told('six.test'), [SIX]);
});

test('when one family is answered, the other is waited for only one second more', async (t) => {
  for (const silent of ['A', 'AAAA']) {
    const { told, clock } = await open(t, (_, __, type) => (type === silent ? 'silence' : [FOUR, SIX]));
    const answer = told('half.test');
    await turnsUntil(clock, () => clock.sleepers === 1);
    await clock.advance(1000);
    assert.deepEqual(await answer, [silent === 'A' ? SIX : FOUR]);
    assert.equal(clock.sleepers, 0);
  }
});

test('a name that does not exist is unknown at once, even if only one of the questions is answered', async (t) => {
  const { told } = await open(t, (name, _, type) =>
    name === 'half.test' && type === 'A' ? 'silence' : 'no such name',
  );
  assert.equal(await told('gone.test'), 'ENOTFOUND');
  assert.equal(await told('half.test'), 'ENOTFOUND');
});

test('a name without addresses says so, unless it is not known whether it has some', async (t) => {
  const patience = { timeout: 50, tries: 1, maxTimeout: 50 };
  const { told } = await open(t, (name, _, type) => (name === 'half.test' && type === 'A' ? 'silence' : []), {
    patience,
  });
  assert.equal(await told('empty.test'), 'ENODATA');
  assert.equal(await told('half.test'), 'ETIMEOUT');
});

test('a name whose servers never answer times out by itself, and closing ends the wait at once', async (t) => {
  const { told } = await open(t, () => 'silence', { patience: { timeout: 50, tries: 1, maxTimeout: 50 } });
  assert.equal(await told('silent.test'), 'ETIMEOUT');
  const patient = await open(t, () => 'silence');
  const answer = patient.told('silent.test');
  await turnsUntil(patient.clock, () => patient.asked.length === 2);
  patient.names.close();
  assert.equal(await answer, 'ECANCELLED');
  assert.equal(await patient.told('silent.test'), 'ECANCELLED');
});

test('/etc/hosts comes first, and a change of it is seen within seconds', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'trawl-hosts-'));
  t.after(() => rm(folder, { recursive: true }));
  const hostsFile = join(folder, 'hosts');
  await writeFile(hostsFile, '10.0.0.1 county.gov\n');
  const { told, asked, clock } = await open(t, () => [FOUR], { hostsFile });
  assert.deepEqual(await told('COUNTY.gov.'), ['10.0.0.1']);
  assert.deepEqual(asked, []);
  await writeFile(hostsFile, '10.0.0.2 county.gov\n');
  await clock.advance(5000);
  assert.deepEqual(await told('county.gov'), ['10.0.0.2']);
  await rm(hostsFile);
  await clock.advance(5000);
  assert.deepEqual(await told('county.gov'), [FOUR]);
});

test('lines of /etc/hosts are read as the system reads them', () => {
  const text =
    '127.0.0.1\tlocalhost loop # a comment\n::1 localhost\n# 10.0.0.9 no\nnonsense county.gov\n10.0.0.1  A.test\r\n';
  assert.deepEqual(Object.fromEntries(parseHosts(text)), {
    localhost: ['127.0.0.1', '::1'],
    loop: ['127.0.0.1'],
    'a.test': ['10.0.0.1'],
  });
});

test('localhost is this machine, whether or not a file says so, and no server is asked', async (t) => {
  const { told, asked } = await open(t, () => [FOUR]);
  for (const name of ['localhost', 'LOCALHOST.', 'demo.localhost'])
    assert.deepEqual(await told(name), ['127.0.0.1', '::1']);
  assert.deepEqual(asked, []);
});

test('the system is asked about names that only it may know, one at a time, and never about others', async (t) => {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const system = async (name: string) => {
    const gate = Promise.withResolvers<void>();
    gates.set(name, gate);
    await gate.promise;
    return [{ address: '10.0.0.7' }];
  };
  const { told, clock } = await open(t, () => 'no such name', { system, asksSystem: true });
  assert.equal(await told('gone.gov'), 'ENOTFOUND');
  const printer = told('printer');
  await turnsUntil(clock, () => gates.size === 1);
  const scanner = told('scanner.local');
  // These are more than may wait: the rest get what DNS said.
  const refused: unknown[] = [];
  for (let at = 0; at < 50; at += 1) void told(`host-${at}`).then((end) => refused.push(end));
  await turnsUntil(clock, () => refused.length === 52 - 32);
  assert.deepEqual([...new Set(refused)], ['ENOTFOUND']);
  assert.deepEqual([...gates.keys()], ['printer']);
  gates.get('printer')?.resolve();
  assert.deepEqual(await printer, ['10.0.0.7']);
  await turnsUntil(clock, () => gates.size === 2);
  gates.get('scanner.local')?.resolve();
  assert.deepEqual(await scanner, ['10.0.0.7']);
});

test('the system is not asked where servers are named, nor when DNS did not answer', async (t) => {
  const system = () => Promise.reject(new Error('it was asked'));
  const named = await open(t, () => 'no such name', { system });
  assert.equal(await named.told('printer'), 'ENOTFOUND');
  const patience = { timeout: 50, tries: 1, maxTimeout: 50 };
  const silent = await open(t, () => 'silence', { system, asksSystem: true, patience });
  assert.equal(await silent.told('printer'), 'ETIMEOUT');
});

test('servers are addresses, with a port or without', () => {
  const good = '9.9.9.9, 10.0.0.2:5353 ,2620:fe::fe,[2620:fe::fe]:53,[::1]';
  assert.deepEqual(parseDnsServers(good), ['9.9.9.9', '10.0.0.2:5353', '2620:fe::fe', '[2620:fe::fe]:53', '[::1]']);
  assert.deepEqual(parseDnsServers(' , '), []);
  for (const bad of [
    'dns.google',
    '1.2.3',
    '9.9.9.9:0',
    '9.9.9.9:70000',
    '[9.9.9.9]:53',
    '9.9.9.9:',
    'udp://9.9.9.9',
  ]) {
    assert.throws(() => parseDnsServers(`9.9.9.9,${bad}`), {
      message: new RegExp(`^${bad.replaceAll(/[.[\]]/g, '\\$&')} is not`),
    });
  }
});
