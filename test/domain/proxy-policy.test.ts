import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { policySchema } from '../../src/domain/policy.ts';
import {
  PROXY_TYPES,
  plainCity,
  proxyLadder,
  proxySchema,
  proxyWarnings,
  supportedGeo,
} from '../../src/domain/proxy-policy.ts';
import { brightDataUser, proxyInList, sessionIdOf } from '../../src/domain/proxy-user.ts';

const digest = (text: string) => hash('sha256', text);

function problemsOf(proxy: unknown): readonly string[] {
  const parsed = policySchema.safeParse({ proxy });
  return parsed.success ? [] : parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
}

test('web-unlocker is another spelling of web_unlocker, which is the one that is kept', () => {
  assert.equal(proxySchema.parse({ type: 'web-unlocker' }).type, 'web_unlocker');
  assert.deepEqual(proxySchema.parse({ escalate: ['web-unlocker'] }).escalate, ['web_unlocker']);
  assert.match(problemsOf({ escalate: ['web-unlocker', 'web_unlocker'] })[0] ?? '', /must not list a type twice/);
});

const GEO: readonly [given: unknown, kept: unknown][] = [
  [{ state: 'AZ' }, { country: 'us', state: 'az' }],
  [
    { state: 'az', city: 'Phoenix' },
    { country: 'us', state: 'az', city: 'Phoenix' },
  ],
  [
    { country: 'CA', state: 'on' },
    { country: 'ca', state: 'on' },
  ],
  [
    { country: 'us', city: 'Los Angeles' },
    { country: 'us', city: 'Los Angeles' },
  ],
];

for (const [given, kept] of GEO) {
  test(`the place ${JSON.stringify(given)} is kept as ${JSON.stringify(kept)}`, () => {
    assert.deepEqual({ ...proxySchema.parse({ type: 'residential', geo_target: given }).geo_target }, kept);
  });
}

const REFUSED: readonly [proxy: unknown, problem: RegExp][] = [
  [{ geo_target: { city: 'Phoenix' } }, /^proxy\.geo_target\.country is required without a state/],
  [{ geo_target: {} }, /^proxy\.geo_target\.country is required/],
  [{ geo_target: { country: 'us', city: '-- --' } }, /^proxy\.geo_target\.city must have letters/],
  [{ geo_target: { country: 'u1' } }, /^proxy\.geo_target\.country must be a code of two letters/],
  [{ geo_target: { country: 'us', zip: '85001' } }, /^proxy\.geo_target /],
  [{ escalate: ['none', 'none'] }, /^proxy\.escalate must not list a type twice/],
  [{ type: 'mobile' }, /^proxy\.type /],
];

for (const [proxy, problem] of REFUSED) {
  test(`a job with the proxy ${JSON.stringify(proxy)} is refused`, () => {
    assert.match(problemsOf(proxy).join('\n'), problem);
  });
}

const AZ = { country: 'us', state: 'az', city: 'Phoenix' };

const WARNED: readonly [proxy: Parameters<typeof proxySchema.parse>[0], warnings: readonly string[]][] = [
  [{ type: 'residential', geo_target: AZ }, []],
  [{ type: 'datacenter', geo_target: { country: 'us' } }, []],
  [
    { type: 'datacenter', geo_target: AZ },
    [
      'proxy.geo_target.state is ignored: datacenter proxies can only be chosen by country',
      'proxy.geo_target.city is ignored: datacenter proxies can only be chosen by country',
    ],
  ],
  [
    { type: 'web_unlocker', geo_target: { state: 'az' } },
    ['proxy.geo_target.state is ignored: exits of the web unlocker can only be chosen by country'],
  ],
  [
    { type: 'custom', geo_target: { country: 'us' } },
    ['proxy.geo_target.country is ignored: custom proxies cannot be chosen by place'],
  ],
  [
    { type: 'none', escalate: ['datacenter', 'residential'], geo_target: { state: 'az' } },
    ['proxy.geo_target.state is ignored: datacenter proxies can only be chosen by country'],
  ],
  [
    { geo_target: { country: 'us' }, session: 'rotate' },
    [
      'proxy.geo_target has no effect: no proxy is used, because proxy.type is none',
      'proxy.session has no effect: no proxy is used, because proxy.type is none',
    ],
  ],
  [{ session: 'rotate', escalate: ['datacenter'] }, []],
];

for (const [proxy, warnings] of WARNED) {
  test(`the proxy ${JSON.stringify(proxy)} gets ${warnings.length === 0 ? 'no warning' : warnings.join(' and ')}`, () => {
    const found = proxyWarnings(proxySchema.parse(proxy));
    assert.deepEqual(
      found.map(({ path, message }) => `${path} ${message}`),
      warnings,
    );
  });
}

test('an item climbs from its type through the rest of the list', () => {
  const ladderOf = (proxy: unknown) => proxyLadder(proxySchema.parse(proxy)).join(' ');
  assert.equal(ladderOf({}), 'none');
  assert.equal(ladderOf({ escalate: ['none', 'datacenter', 'residential'] }), 'none datacenter residential');
  assert.equal(ladderOf({ escalate: ['datacenter', 'residential'] }), 'none datacenter residential');
  assert.equal(ladderOf({ type: 'datacenter', escalate: ['residential'] }), 'datacenter residential');
  assert.equal(ladderOf({ type: 'residential', escalate: ['none', 'datacenter', 'residential'] }), 'residential');
});

const ACCOUNT = { customer: 'hl_12345678', zone: 'Zone_1' };

test('the user name has the place that this kind of proxy supports', () => {
  const user = (type: (typeof PROXY_TYPES)[number], geo: Parameters<typeof brightDataUser>[2]) =>
    brightDataUser(type, ACCOUNT, geo, 'a1').replace(/-session-[a-z0-9]+$/, '');
  const base = 'brd-customer-hl_12345678-zone-zone_1';
  assert.equal(user('datacenter', null), base);
  assert.equal(user('datacenter', AZ), `${base}-country-us`);
  assert.equal(user('residential', AZ), `${base}-country-us-state-az-city-phoenix`);
  assert.equal(user('web_unlocker', AZ), `${base}-country-us`);
  const la = { country: 'us', city: 'Los Angeles' };
  assert.equal(user('residential', la), `${base}-country-us-city-losangeles`);
  const full = brightDataUser('datacenter', { ...ACCOUNT, customer: 'brd-customer-hl_12345678' }, null, 'a1');
  assert.match(full, /^brd-customer-hl_12345678-zone-/);
});

test('a city is written without spaces, dashes, dots and accents', () => {
  for (const [city, plain] of [
    ['Los Angeles', 'losangeles'],
    ['winston-salem', 'winstonsalem'],
    ['St. Louis', 'stlouis'],
    ['San José', 'sanjose'],
    ['Coeur_d’Alene', 'coeurdalene'],
  ] as const) {
    assert.equal(plainCity(city), plain);
  }
});

test('a session is letters and digits, the same for the same name and another for any other', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      assert.match(sessionIdOf(one, digest), /^[a-z0-9]{20}$/);
      assert.equal(sessionIdOf(one, digest) === sessionIdOf(other, digest), one === other);
    }),
  );
});

test('a user name can be parsed back, whatever the ids and places are', () => {
  const code = fc.stringMatching(/^[a-zA-Z]{2}$/);
  const place = fc.record(
    { country: code, state: code, city: fc.string({ minLength: 1, maxLength: 100 }) },
    { requiredKeys: ['country'] },
  );
  fc.assert(
    fc.property(fc.constantFrom(...PROXY_TYPES), place, fc.string(), (type, geo, session) => {
      const user = brightDataUser(
        type,
        ACCOUNT,
        { ...geo, country: geo.country.toLowerCase() },
        sessionIdOf(session, digest),
      );
      const form =
        /^brd-customer-[a-z0-9_]+-zone-[a-z0-9_]+(-country-[a-z]{2}(-state-[a-z]{2})?(-city-[a-z0-9]*)?)?-session-[a-z0-9]+$/;
      assert.match(user, form);
      assert.equal(user.includes('-state-'), supportedGeo(type, geo).state !== undefined);
    }),
  );
});

test('the next session of a visitor uses the next proxy of the list, and visitors are spread over it', () => {
  const at = (session: string) => proxyInList(session, 3, digest);
  assert.equal(at('job/item/1'), (at('job/item/0') + 1) % 3);
  assert.equal(at('job/item/2'), (at('job/item/0') + 2) % 3);
  const used = new Set(Array.from({ length: 50 }, (_, item) => at(`job/item-${item}/0`)));
  assert.deepEqual([...used].sort(), [0, 1, 2]);
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 50 }), (session, count) => {
      const index = proxyInList(session, count, digest);
      assert.ok(Number.isInteger(index) && index >= 0 && index < count);
    }),
  );
});
