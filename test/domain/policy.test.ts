import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { completePolicy, DEFAULT_POLICY, policySchema } from '../../src/domain/policy.ts';

/** The defaults that users rely on, written out, so that none changes by accident. */
const DEFAULTS = {
  throttling: {
    max_concurrent_workers: 3,
    min_delay_between_items_seconds: 0,
    max_requests_per_second: null,
    weight: 1,
    adaptive: true,
  },
  proxy: { type: 'none', geo_target: null, session: 'sticky', escalate: [] },
  retries: {
    max_retries: 3,
    backoff_strategy: 'exponential',
    backoff_factor: 1,
    max_backoff_seconds: 60,
    max_retry_after_seconds: 3600,
  },
  timeouts: { connect_timeout_seconds: 10, request_timeout_seconds: 30, item_timeout_seconds: 300 },
  circuit_breaker: {
    min_requests: 50,
    failure_threshold_percentage: 0.25,
    consecutive_failures: null,
    on_trip: 'fail',
    cooldown_seconds: null,
    max_wait_seconds: 21_600,
    count_all_failures: false,
  },
  results: { keep_html: true, keep_failures: 3, screenshot: 'never', item_manifests: null },
  controls: { items: [], every: 500, ignore: [] },
  budget: { max_requests: null, max_bytes: null, max_proxy_bytes: null, max_cost: null },
  discovery: { max_depth: 5, max_items: 100_000 },
  robots: 'ignore',
  browser: {
    ...{ isolation: 'context', block: ['images', 'media', 'fonts'], stealth: false },
    ...{ device: null, locale: null, timezone: null, trace: 'never' },
  },
};

/** Field, the least and the greatest value it takes, and values just outside. */
const LIMITS: readonly [field: string, taken: readonly unknown[], refused: readonly unknown[]][] = [
  ['throttling.max_concurrent_workers', [1, 10_000], [0, -1, 1.5, 10_001, '3', null]],
  ['throttling.min_delay_between_items_seconds', [0, 0.25, 86_400], [-0.1, 86_401, Number.NaN, '1', null]],
  ['throttling.max_requests_per_second', [0.01, 100_000, null], [0, -1, 100_001, Number.POSITIVE_INFINITY]],
  ['throttling.weight', [0.01, 1, 100], [0, -1, 101]],
  ['throttling.adaptive', [true, false], ['yes', 1, null]],
  ['proxy.type', ['none', 'datacenter', 'residential', 'web_unlocker', 'custom'], ['mobile', '', null]],
  [
    'proxy.geo_target',
    [null, { country: 'us' }, { country: 'us', state: 'az', city: 'M' }, { country: 'us', city: 'x'.repeat(100) }],
    [{}, { country: 'usa' }, { country: 'us', city: '' }, { country: 'us', city: 'x'.repeat(101) }],
  ],
  ['proxy.session', ['sticky', 'rotate'], ['none', null]],
  ['proxy.escalate', [[], ['none', 'datacenter', 'residential']], [['mobile'], Array(6).fill('none'), 'none']],
  ['retries.max_retries', [0, 20], [-1, 21, 0.5, null]],
  ['retries.backoff_strategy', ['exponential', 'linear'], ['constant', null]],
  ['retries.backoff_factor', [0, 0.5, 60], [-1, 61]],
  ['retries.max_backoff_seconds', [0, 86_400], [-1, 86_401]],
  ['retries.max_retry_after_seconds', [0.5, 86_400], [0, -1, 86_401]],
  ['timeouts.connect_timeout_seconds', [0.1, 86_400], [0, -1, 86_401]],
  ['timeouts.request_timeout_seconds', [0.1, 86_400], [0, -1, 86_401]],
  ['timeouts.item_timeout_seconds', [0.1, 86_400], [0, -1, 86_401]],
  ['circuit_breaker.min_requests', [1, 1_000_000], [0, 1.5, 1_000_001]],
  ['circuit_breaker.failure_threshold_percentage', [0.001, 0.25, 1], [0, -0.1, 1.01, 25, Number.NaN]],
  ['circuit_breaker.consecutive_failures', [1, 1_000_000, null], [0, 1.5, 1_000_001]],
  ['circuit_breaker.on_trip', ['fail', 'pause'], ['stop', null]],
  ['circuit_breaker.cooldown_seconds', [0.1, 86_400, null], [0, -1, 86_401]],
  ['circuit_breaker.max_wait_seconds', [0.1, 86_400], [0, -1, 86_401]],
  ['circuit_breaker.count_all_failures', [true, false], ['yes', null]],
  ['results.keep_html', [true, false], ['yes', null]],
  ['results.keep_failures', [0, 3, 100], [-1, 1.5, 101, null]],
  ['results.screenshot', ['never', 'on_failure', 'always'], ['sometimes', null]],
  ['results.item_manifests', [true, false, null], ['yes', 1]],
  [
    'controls.items',
    [[{ input: { apn: '1' } }, { input: {}, expect: { owner: 'x' } }], Array(20).fill({ input: {} })],
    [[{}], [{ input: 'x' }], [{ input: {}, expected: {} }], Array(21).fill({ input: {} }), null],
  ],
  ['controls.every', [1, 1_000_000], [0, 1.5, 1_000_001, null]],
  ['controls.ignore', [['printed_at']], [[''], [1], 'printed_at']],
  ['budget.max_requests', [1, 1e15, null], [0, -1, 1.5, 1e15 + 1, '5']],
  ['budget.max_bytes', [1, 1e15, null], [0, -1, 1.5, 1e15 + 1]],
  ['budget.max_proxy_bytes', [1, 1e15, null], [0, -1, 1.5, 1e15 + 1]],
  ['budget.max_cost', [0.01, 1e9, null], [0, -1, 1e9 + 1, Number.POSITIVE_INFINITY, '5']],
  ['discovery.max_depth', [0, 1, 1000], [-1, 1.5, 1001, null]],
  ['discovery.max_items', [0, 1, 100_000_000], [-1, 1.5, 100_000_001, null]],
  ['robots', ['respect', 'ignore'], ['obey', null]],
  ['browser.isolation', ['context', 'page'], ['none', null]],
  ['browser.block', [[], ['images', 'media', 'fonts', 'trackers']], [['css'], 'images', null]],
  ['browser.stealth', [true, false], ['yes', null]],
  [
    'browser.device',
    [null, 'Pixel 7', {}, { viewport: { width: 390, height: 844 }, is_mobile: true, has_touch: true }],
    ['', { viewport: { width: 0, height: 1 } }, { userAgent: 'x' }, 7],
  ],
  ['browser.locale', ['en', 'en-US', 'zh-Hant-TW', null], ['english please', 'e', '']],
  ['browser.timezone', ['America/Phoenix', 'UTC', null], ['Phoenix', '']],
  ['browser.trace', ['never', 'on_failure', 'always'], ['sometimes', null]],
];

/** { 'a.b': 1 } as { a: { b: 1 } }: a policy with nothing but that field. */
function withField(field: string, value: unknown): unknown {
  return field.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
}

function problems(value: unknown): { path: string; keys: readonly string[] }[] {
  const result = policySchema.safeParse(value);
  if (result.success) return [];
  return result.error.issues.map((issue) => ({
    path: issue.path.join('.'),
    keys: issue.code === 'unrecognized_keys' ? issue.keys : [],
  }));
}

test('a policy that says nothing has every default of the specification', () => {
  assert.deepEqual(policySchema.parse({}), DEFAULTS);
  assert.deepEqual(DEFAULT_POLICY, DEFAULTS);
});

test('a section that says nothing has its defaults, and one that says something keeps the others', () => {
  for (const [section, expected] of Object.entries(DEFAULTS)) {
    if (typeof expected === 'string') continue;
    assert.deepEqual(policySchema.parse({ [section]: {} }), DEFAULTS, section);
  }
  const { throttling } = policySchema.parse({ throttling: { max_concurrent_workers: 7 } });
  assert.deepEqual(throttling, { ...DEFAULTS.throttling, max_concurrent_workers: 7 });
});

test('every field of the policy has its limits tested here', () => {
  const fields = Object.entries(DEFAULTS).flatMap(([section, inner]) =>
    typeof inner === 'string' ? [section] : Object.keys(inner).map((field) => `${section}.${field}`),
  );
  assert.deepEqual(
    LIMITS.map(([field]) => field),
    fields,
  );
});

for (const [field, taken, refused] of LIMITS) {
  test(`${field} accepts a value within its limits, and names itself when the value is not`, () => {
    for (const value of taken) {
      const parsed = policySchema.parse(withField(field, value));
      const found = field.split('.').reduce<unknown>((inner, name) => Object(inner)[name], parsed);
      assert.deepEqual(found, value);
    }
    for (const value of refused) {
      const found = problems(withField(field, value));
      assert.ok(found.length > 0, `${field}: ${value} was taken`);
      for (const { path } of found) assert.ok(path.startsWith(field), `${path} instead of ${field}`);
    }
  });
}

test('a share written as a percentage is refused in words that help', () => {
  const result = policySchema.safeParse({ circuit_breaker: { failure_threshold_percentage: 25 } });
  assert.match(result.error?.message ?? '', /a fraction: 0\.25 means 25 %/);
});

test('countries and states are taken in any case and kept in one', () => {
  const { proxy } = policySchema.parse({ proxy: { geo_target: { country: 'US', state: 'Az', city: 'Mesa' } } });
  assert.deepEqual(proxy.geo_target, { country: 'us', state: 'az', city: 'Mesa' });
});

test('a section that does not exist is refused by name', () => {
  assert.deepEqual(problems({ throttle: {} }), [{ path: '', keys: ['throttle'] }]);
});

test('an unknown field is refused by name, with the section it is in', () => {
  for (const section of Object.keys(DEFAULTS).filter((name) => name !== 'robots')) {
    assert.deepEqual(problems({ [section]: { max_worker: 1 } }), [{ path: section, keys: ['max_worker'] }], section);
  }
  assert.deepEqual(problems({ proxy: { geo_target: { country: 'us', zip: '85201' } } }), [
    { path: 'proxy.geo_target', keys: ['zip'] },
  ]);
});

test('what is not an object is not a policy', () => {
  for (const value of [null, 'fast', 3, [], { throttling: null }, { throttling: [] }]) {
    assert.ok(problems(value).length > 0, JSON.stringify(value));
  }
});

/** Policies with any of the fields present, each with a value it takes. */
const anyPolicyDocument = fc
  .tuple(...LIMITS.map(([field, taken]) => fc.option(fc.constantFrom(...taken).map((value) => ({ field, value })))))
  .map((chosen) => {
    const document: Record<string, unknown> = {};
    for (const { field, value } of chosen.filter((each) => each !== null)) {
      const [section = '', name] = field.split('.');
      document[section] = name === undefined ? value : { ...Object(document[section]), [name]: value };
    }
    return document;
  });

test('parsing fills in what is missing, keeps what is there, and changes nothing the second time', () => {
  fc.assert(
    fc.property(anyPolicyDocument, (document) => {
      const parsed = policySchema.parse(document);
      for (const [section, expected] of Object.entries(DEFAULTS)) {
        const given = document[section];
        const full = typeof expected === 'string' ? (given ?? expected) : { ...expected, ...Object(given) };
        assert.deepEqual(Object(parsed)[section], full);
      }
      assert.deepEqual(policySchema.parse(parsed), parsed);
      assert.deepEqual(policySchema.parse(JSON.parse(JSON.stringify(parsed))), parsed);
    }),
  );
});

test('no misspelt field slips through, wherever it is and whatever else is right', () => {
  const names = Object.keys(DEFAULTS).filter((name) => name !== 'robots');
  fc.assert(
    fc.property(
      anyPolicyDocument,
      fc.constantFrom(...names),
      fc.stringMatching(/^[a-z_]{1,12}$/),
      (document, section, name) => {
        fc.pre(!(name in Object(DEFAULT_POLICY)[section]));
        const broken = { ...document, [section]: { ...Object(document[section]), [name]: 1 } };
        assert.deepEqual(problems(broken), [{ path: section, keys: [name] }]);
      },
    ),
  );
});

test('a stored policy that lacks a field has its default, and keeps all that it has', () => {
  const given = policySchema.parse({ retries: { max_retries: 7 }, results: { keep_html: false }, robots: 'respect' });
  for (const [section, fields] of Object.entries(given)) {
    if (typeof fields !== 'object') continue;
    for (const name of Object.keys(fields)) {
      const { [name]: _, ...rest } = fields as Record<string, unknown>;
      const completed = completePolicy({ ...given, [section]: rest });
      const usual = Reflect.get(Object(Reflect.get(DEFAULT_POLICY, section)), name);
      assert.deepEqual(completed, { ...given, [section]: { ...fields, [name]: usual } }, `${section}.${name}`);
    }
  }
});
