import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { policySchema } from '../../src/domain/policy.ts';
import { judgeProxyAnswer } from '../../src/domain/proxy-answer.ts';
import { PROXY_TYPES, proxyWarnings, supportedGeo } from '../../src/domain/proxy-policy.ts';
import { PROXY_SETTINGS, type ProxySettings, proxyWays } from '../../src/domain/proxy-settings.ts';

const PAGE = readFileSync(new URL('../../docs/proxies.md', import.meta.url), 'utf8');

function blocks(language: string): readonly string[] {
  return [...PAGE.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, tag, text = '']) =>
    tag === language ? text : [],
  );
}

test('the policy of the page is valid, and asks for nothing that is ignored', () => {
  const [json = ''] = blocks('json');
  const { proxy } = policySchema.parse(JSON.parse(json));
  assert.equal(proxy.type, 'residential');
  assert.deepEqual(proxyWarnings(proxy), []);
});

test('the settings of the page are enough for the proxies that it names', () => {
  const given = new Map(
    [
      ...blocks('sh')
        .join('\n')
        .matchAll(/^export (\w+)='?([^'\n]*)'?$/gm),
    ].map(([, name = '', value = '']) => [name, value]),
  );
  const settings = Object.fromEntries(
    Object.entries(PROXY_SETTINGS).map(([key, { variable }]) => [key, given.get(variable) ?? '']),
  ) as ProxySettings;
  const ways = proxyWays(settings);
  assert.deepEqual([ways['residential']?.kind, ways['custom']?.kind], ['bright-data', 'list']);
  const variables: readonly string[] = Object.values(PROXY_SETTINGS).map(({ variable }) => variable);
  const named = [...PAGE.matchAll(/PROXY_[A-Z_]+/g)].map(([name]) => name);
  assert.deepEqual(
    named.filter((name) => !variables.includes(name)),
    [],
  );
});

test('the page says by what exits can be chosen', () => {
  const place = { country: 'us', state: 'az', city: 'Phoenix' };
  for (const type of PROXY_TYPES.filter((each) => each !== 'none')) {
    const [, said = ''] =
      new RegExp(`^\\| [^|]*\`${type}\`[^|]* \\| ((?:country|nothing)[^|]*) \\|$`, 'm').exec(PAGE) ?? [];
    assert.equal(said, Object.keys(supportedGeo(type, place)).join(', ') || 'nothing', type);
  }
});

test('each answer of a proxy becomes the failure that the page names', () => {
  const rows = [...PAGE.matchAll(/^\| ((?:400|408|429|502)[^|]*) \| `(\w+)` \|/gm)];
  assert.equal(rows.length, 4);
  for (const [, cell = '', type = ''] of rows) {
    const [firsts = '', ...rest] = cell.split(';');
    const statuses = /with/.test(firsts) ? [] : (firsts.match(/\d{3}/g) ?? []);
    for (const status of statuses) {
      assert.equal(judgeProxyAnswer({ at: 'connect', status: Number(status), headers: {} })?.type, type, status);
    }
    const codes = [firsts, ...rest].join(';').match(/(?:client|policy|peer|target)_(?:\d+|…)/g) ?? [];
    for (const code of codes) {
      const headers = { 'x-brd-err-code': code.replace('…', '99999') };
      assert.equal(judgeProxyAnswer({ at: 'connect', status: 502, headers })?.type, type, code);
    }
  }
});
