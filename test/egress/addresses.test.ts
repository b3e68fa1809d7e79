import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AddressRange, addressRange, parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { formatIp, hiddenIpv4, type IpAddress, parseIp, sameIp } from '../../src/egress/ip-address.ts';
import { openResolver } from '../../src/egress/resolver.ts';
import { parseTarget } from '../../src/egress/target.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { sized } from '../support/sized.ts';
import { type Dice, hide, writeUrl } from './address-forms.ts';

const RULES = new AddressRules([]);

function allowing(text: string): AddressRules {
  return new AddressRules(parseAddressRanges(text));
}

/** First address, last address, and what is said of them. */
const FORBIDDEN: readonly (readonly [range: string, first: string, last: string, what: RegExp])[] = [
  ['0.0.0.0/8', '0.0.0.0', '0.255.255.255', /this network/],
  ['10.0.0.0/8', '10.0.0.0', '10.255.255.255', /private/],
  ['100.64.0.0/10', '100.64.0.0', '100.127.255.255', /shared/],
  ['127.0.0.0/8', '127.0.0.0', '127.255.255.255', /loopback/],
  ['169.254.0.0/16', '169.254.0.0', '169.254.255.255', /link-local/],
  ['172.16.0.0/12', '172.16.0.0', '172.31.255.255', /private/],
  ['192.0.0.0/24', '192.0.0.0', '192.0.0.255', /protocols/],
  ['192.0.2.0/24', '192.0.2.0', '192.0.2.255', /documentation/],
  ['192.88.99.0/24', '192.88.99.0', '192.88.99.255', /6to4/],
  ['192.168.0.0/16', '192.168.0.0', '192.168.255.255', /private/],
  ['198.18.0.0/15', '198.18.0.0', '198.19.255.255', /benchmarks/],
  ['198.51.100.0/24', '198.51.100.0', '198.51.100.255', /documentation/],
  ['203.0.113.0/24', '203.0.113.0', '203.0.113.255', /documentation/],
  ['224.0.0.0/4', '224.0.0.0', '239.255.255.255', /multicast/],
  ['240.0.0.0/4', '240.0.0.0', '255.255.255.254', /reserved/],
  ['255.255.255.255', '255.255.255.255', '255.255.255.255', /broadcast/],
  ['168.63.129.16', '168.63.129.16', '168.63.129.16', /cloud/],
  ['169.254.169.254', '169.254.169.254', '169.254.169.254', /cloud/],
  ['100.100.100.200', '100.100.100.200', '100.100.100.200', /cloud/],
  ['::', '::', '::', /unspecified/],
  ['::1', '::1', '::1', /loopback/],
  ['::/96', '::808:808', '::fefe:fefe', /compatible|reserved/],
  ['::ffff:0:0:0/96', '::ffff:0:808:808', '::ffff:0:808:ffff', /translated/],
  ['64:ff9b::/96', '64:ff9b::808:808', '64:ff9b::808:ffff', /NAT64/],
  ['64:ff9b:1::/48', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', /local NAT64/],
  ['100::/64', '100::', '100::ffff:ffff:ffff:ffff', /discards/],
  ['100:0:0:1::/64', '100:0:0:1::', '100::1:ffff:ffff:ffff:ffff', /dummy/],
  ['2001::/32', '2001:0:808:808::f7f7:f7f7', '2001:0:808:808:ffff:ffff:f7f7:f7f7', /Teredo/],
  ['2001::/23', '2001:1::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', /protocols/],
  ['2001:db8::/32', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', /documentation/],
  ['2002::/16', '2002:808:808::', '2002:808:808:ffff:ffff:ffff:ffff:ffff', /6to4/],
  ['3fff::/20', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', /documentation/],
  ['5f00::/16', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff', /SRv6/],
  ['fc00::/7', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', /private/],
  ['fe80::/10', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', /link-local/],
  ['fec0::/10', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', /site-local/],
  ['ff00::/8', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', /multicast/],
  ['fd00:ec2::254', 'fd00:ec2::254', 'fd00:ec2::254', /cloud/],
  ['4000::/2', '4000::', '5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', /public IPv6/],
  ['8000::/2', '8000::', 'bfff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', /public IPv6/],
];

test('every range of the special-purpose registries is forbidden from its first address to its last, with the reason', () => {
  for (const [range, first, last, what] of FORBIDDEN) {
    for (const address of [first, last]) {
      const reason = RULES.judge(address);
      assert.ok(reason !== null, `${address} of ${range} may be dialled`);
      assert.match(reason, what);
      assert.ok(reason.startsWith(`${address} `), reason);
    }
  }
});

test('the addresses just outside of the special ranges may be dialled', () => {
  const neighbours = [
    ...['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
    ...[
      '169.253.255.255',
      '169.255.0.0',
      '172.15.255.255',
      '172.32.0.0',
      '191.255.255.255',
      '192.0.1.0',
      '192.0.1.255',
    ],
    ...['192.0.3.0', '192.88.98.255', '192.88.100.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0'],
    ...['198.51.99.255', '198.51.101.0', '203.0.112.255', '203.0.114.0', '223.255.255.255', '168.63.129.15'],
    ...[
      '2000::',
      '2000:ffff::',
      '2001:200::',
      '2001:db7:ffff::1',
      '2001:db9::',
      '2001:ffff::1',
      '2003::',
      '2606:4700::1111',
    ],
    ...['3ffe:ffff::1', '3fff:1000::'],
  ];
  for (const address of neighbours) assert.equal(RULES.judge(address), null, address);
});

test('an address is called by its name in the reason', () => {
  assert.equal(RULES.judge('127.0.0.1'), '127.0.0.1 is a loopback address');
  assert.equal(
    RULES.judge('::ffff:7f00:1'),
    '::ffff:127.0.0.1 leads to 127.0.0.1 (IPv4-mapped), which is a loopback address',
  );
});

test('an address that is not canonical, or has a zone, is forbidden', () => {
  const texts = [
    '',
    'localhost',
    '127.1',
    '0x7f.0.0.1',
    '08.8.8.8',
    '8.8.8.8 ',
    '8.8.8',
    '[2606:4700::1]',
    'fe80::1%eth0',
  ];
  for (const text of [...texts, '2606:4700::1%1', '1:2:3:4:5:6:7:8:9', '2606:4700:::1', '::8.8.8.256']) {
    assert.ok(RULES.judge(text) !== null, text);
  }
  assert.match(RULES.judge('fe80::1%eth0') ?? '', /interface/);
});

test('an IPv4 address is found in every IPv6 form', () => {
  const forms: readonly (readonly [text: string, ...hidden: string[]])[] = [
    ['::ffff:192.0.2.33', '192.0.2.33 IPv4-mapped'],
    ['::192.0.2.33', '192.0.2.33 IPv4-compatible'],
    ['::ffff:0:192.0.2.33', '192.0.2.33 IPv4-translated'],
    ['64:ff9b::192.0.2.33', '192.0.2.33 NAT64'],
    ['2002:c000:221::1', '192.0.2.33 6to4'],
    // The example of RFC 4380's successor pages: server 65.54.227.120, client 192.0.2.45.
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '65.54.227.120 Teredo (server)', '192.0.2.45 Teredo (client)'],
    ['2a00:1::5efe:192.0.2.33', '192.0.2.33 ISATAP'],
    ['2a00:1::200:5efe:192.0.2.33', '192.0.2.33 ISATAP'],
    ['2606:4700::1111'],
    ['::1'],
    ['::'],
    ['192.0.2.33'],
  ];
  for (const [text, ...hidden] of forms) {
    const found = hiddenIpv4(ip(text)).map(({ form, address }) => `${formatIp(address)} ${form}`);
    assert.deepEqual(found, hidden, text);
  }
});

test('a public network with a private address in its ISATAP interface is forbidden, with a public one it is not', () => {
  assert.match(RULES.judge('2a00:1::5efe:10.0.0.1') ?? '', /10\.0\.0\.1 \(ISATAP\), which is a private address/);
  assert.equal(RULES.judge('2a00:1::5efe:8.8.8.8'), null);
});

test('two texts are the same address if family and all bytes are', () => {
  assert.ok(sameIp(ip('::ffff:7f00:1'), ip('0:0:0:0:0:FFFF:127.0.0.1')));
  assert.ok(!sameIp(ip('127.0.0.1'), ip('127.0.0.2')));
  assert.ok(!sameIp(ip('0.0.0.0'), ip('::')));
});

test('IPv6 is written in its short form', () => {
  const texts = {
    '0:0:0:0:0:0:0:0': '::',
    '0:0:0:0:0:0:0:1': '::1',
    '2001:0DB8:0:0:1:0:0:1': '2001:db8::1:0:0:1',
    '2001:db8:0:1:1:1:1:1': '2001:db8:0:1:1:1:1:1',
    'fe80:0:0:0:0:0:0:0': 'fe80::',
    '10:0:0:20:0:0:0:30': '10:0:0:20::30',
    '::FFFF:7F00:1': '::ffff:127.0.0.1',
  };
  for (const [long, short] of Object.entries(texts)) assert.equal(formatIp(ip(long)), short);
});

test('the names and ranges that an operator allows are allowed, and nothing beside them', () => {
  const rules = allowing('loopback, 10.1.0.0/16,fd12::/32');
  for (const address of ['127.0.0.1', '127.255.255.255', '::1', '10.1.0.0', '10.1.255.255', 'fd12::1', '8.8.8.8']) {
    assert.equal(rules.judge(address), null, address);
  }
  for (const address of ['10.0.255.255', '10.2.0.0', 'fd12:1::1', '192.168.0.1', '::2', '0.0.0.0', '::']) {
    assert.ok(rules.judge(address) !== null, address);
  }
  const insider = allowing('private');
  for (const address of ['10.0.0.1', '172.16.0.1', '192.168.1.1', 'fc00::1', 'fdff::1']) {
    assert.equal(insider.judge(address), null, address);
  }
  for (const address of ['127.0.0.1', '::1', '169.254.0.1', '100.64.0.1', 'fe80::1']) {
    assert.ok(insider.judge(address) !== null, address);
  }
});

test('a single address has the width of its family, and a range of length 0 is its whole family', () => {
  assert.equal(allowing('10.0.0.1').judge('10.0.0.1'), null);
  assert.ok(allowing('10.0.0.1').judge('10.0.0.2') !== null);
  assert.ok(allowing('10.0.0.0/31').judge('10.0.0.2') !== null);
  assert.equal(allowing('10.0.0.0/31').judge('10.0.0.1'), null);
  assert.equal(allowing('0.0.0.0/0').judge('127.0.0.1'), null);
  assert.ok(allowing('0.0.0.0/0').judge('::1') !== null);
  assert.equal(allowing('::/0').judge('::1'), null);
});

test('a mapped address is allowed with its IPv4 address, a tunnelled one only if both are', () => {
  const rules = allowing('loopback');
  assert.equal(rules.judge('::ffff:127.0.0.1'), null);
  assert.ok(rules.judge('::ffff:10.0.0.1') !== null);
  for (const tunnel of ['::127.0.0.1', '64:ff9b::127.0.0.1', '2002:7f00:1::', '::ffff:0:127.0.0.1']) {
    assert.ok(rules.judge(tunnel) !== null, tunnel);
  }
  const relayed = allowing('64:ff9b::/96');
  assert.equal(relayed.judge('64:ff9b::8.8.8.8'), null);
  assert.ok(relayed.judge('64:ff9b::127.0.0.1') !== null);
  assert.equal(allowing('64:ff9b::/96,loopback').judge('64:ff9b::127.0.0.1'), null);
});

test('a metadata service is not opened by a range around it, only by its own address', () => {
  const services = ['169.254.169.254', '100.100.100.200', '168.63.129.16', '192.0.0.192'];
  const wide = allowing('private,loopback,0.0.0.0/0,::/0');
  for (const address of [...services, 'fd00:ec2::254', 'fd20:ce::254', '::ffff:169.254.169.254']) {
    assert.match(wide.judge(address) ?? '', /cloud/, address);
  }
  for (const address of services) assert.equal(allowing(address).judge(address), null);
  assert.equal(allowing('169.254.169.254').judge('::ffff:169.254.169.254'), null);
});

test('an entry that is not an address, range or name is an error that repeats it and says what is possible', () => {
  const bad = ['10.0.0.0/33', '10.0.0.1/8', 'fd00::/129', '10.0.0/8', '10.0.0.0/08', '10.0.0.0/', '10.0.0.0/8/8'];
  for (const entry of [...bad, 'local', 'toString', 'Private', '127.1', '10.0.0.0-10.0.0.9', '[::1]', 'fe80::1%eth0']) {
    assert.throws(
      () => parseAddressRanges(`loopback,${entry}`),
      (error: Error) => error.message.includes(`"${entry}"`),
    );
  }
  assert.throws(() => parseAddressRanges('example.gov'), /write an address .*10\.0\.0\.0\/8.*loopback, private/);
  assert.throws(() => parseAddressRanges('10.0.0.1/8'), /would begin at 10\.0\.0\.0\/8/);
  assert.throws(() => parseAddressRanges('::ffff:127.0.0.1'), /write 127\.0\.0\.1/);
  for (const empty of ['loopback,', ',', 'loopback,,private']) assert.throws(() => parseAddressRanges(empty), /""/);
  assert.deepEqual(parseAddressRanges(' '), []);
});

const FORMS = sized({ quick: 5_000, slow: 100_000 });

test(`of ${FORMS} ways to write a forbidden address into a URL, none is resolved and none is dialled`, async () => {
  const dice = diceOf(20_260_801);
  const dialled: string[] = [];
  const tally = { refused: 0, unparsed: 0 };
  for (let at = 0; at < FORMS; at += 1) {
    const inner = forbiddenAddress(dice);
    const url = writeUrl(inner.family === 4 && dice(2) === 0 ? hide(inner, dice) : inner, dice);
    const verdict = await visit(url, () => dialled.push(url));
    tally[verdict === 'refused_address' ? 'refused' : 'unparsed'] += 1;
    if (verdict === 'resolved') assert.fail(`${JSON.stringify(url)} (${formatIp(inner)}) was resolved`);
  }
  assert.deepEqual(dialled, []);
  assert.equal(tally.unparsed, 0, 'a form that no parser takes proves nothing');
});

test('the same ways to write a public address are all dialled', async () => {
  const dice = diceOf(4);
  let dialled = 0;
  const forms = FORMS / 4;
  for (let at = 0; at < forms; at += 1) {
    const url = writeUrl(ip(['93.184.216.34', '8.8.8.8', '2606:4700::1111'][dice(3)] ?? ''), dice);
    assert.equal(await visit(url, () => (dialled += 1)), 'resolved', JSON.stringify(url));
  }
  assert.equal(dialled, forms);
});

/** The path of every request: the URL is parsed, the host is resolved, and only then is there an address to dial. */
async function visit(url: string, connect: () => void): Promise<string> {
  const target = parseTarget(url);
  if (target.kind === 'failed') return target.failure.type;
  const resolved = await RESOLVER.resolve(target.hostname, NEVER, 1000);
  if (resolved.kind === 'failed') return resolved.failure.type;
  connect();
  return resolved.kind;
}

const NEVER = new AbortController().signal;
/** A host that gets as far as DNS comes back with a public address, and so counts as a hole. */
const RESOLVER = openResolver({
  rules: RULES,
  clock: new FakeClock(),
  lookup: async () => [{ address: '93.184.216.34' }],
});

const RANGES = FORBIDDEN.map(([range]) => addressRange(range));

/** Draws an address anywhere in one of the ranges above. */
function forbiddenAddress(dice: Dice): IpAddress {
  const { start, bits } = RANGES[dice(RANGES.length)] as AddressRange;
  const bytes = start.bytes.map((value, at) => {
    const free = 8 - Math.min(8, Math.max(0, bits - 8 * at));
    return value | dice(2 ** free);
  });
  return { family: start.family, bytes };
}

function diceOf(seed: number): Dice {
  const clock = new FakeClock({ seed });
  return (n) => Math.floor(clock.chance() * n);
}

function ip(text: string): IpAddress {
  const parsed = parseIp(text);
  assert.ok(parsed !== null, text);
  return parsed;
}
