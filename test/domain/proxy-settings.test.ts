import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PROXY_SETTINGS, type ProxySettings, proxySecrets, proxyWays } from '../../src/domain/proxy-settings.ts';

const NONE = Object.fromEntries(Object.keys(PROXY_SETTINGS).map((key) => [key, ''])) as ProxySettings;

test('a kind of proxy needs its own settings, and only those', () => {
  const settings = { ...NONE, proxyCustomer: 'hl_1', proxyDatacenterZone: 'dc', proxyDatacenterPassword: 'x' };
  const { datacenter, residential, web_unlocker, custom } = proxyWays(settings);
  assert.deepEqual(datacenter, {
    kind: 'bright-data',
    type: 'datacenter',
    server: { protocol: 'http', hostname: 'brd.superproxy.io', port: 44445, user: '', password: '' },
    account: { customer: 'hl_1', zone: 'dc' },
    password: 'x',
  });
  const problemOf = (way: typeof custom) => (way?.kind === 'unusable' ? way.problem : '');
  assert.match(
    problemOf(residential),
    /^PROXY_RESIDENTIAL_ZONE, PROXY_RESIDENTIAL_PASSWORD are not set: they are needed for proxies of the type residential/,
  );
  assert.match(problemOf(web_unlocker), /^PROXY_WEB_UNLOCKER_ZONE, PROXY_WEB_UNLOCKER_PASSWORD are not set/);
  assert.match(problemOf(custom), /^PROXY_CUSTOM_URLS is not set: it is needed for proxies of the type custom/);
  assert.match(problemOf(proxyWays(NONE)['datacenter']), /^PROXY_CUSTOMER, PROXY_DATACENTER_ZONE, /);
});

test('custom proxies are those of their list, or else the one of PROXY_URL', () => {
  const serversOf = (settings: Partial<ProxySettings>) => {
    const { custom } = proxyWays({ ...NONE, ...settings });
    return custom?.kind === 'list' ? custom.servers.map(({ user, hostname }) => `${user}@${hostname}`) : null;
  };
  const urls = 'http://ann:1@a.test:1, socks5://b.test\nhttps://bob:2@c.test';
  assert.deepEqual(serversOf({ proxyCustomUrls: urls, proxyUrl: 'd.test' }), ['ann@a.test', '@b.test', 'bob@c.test']);
  assert.deepEqual(serversOf({ proxyUrl: 'http://eve:3@d.test:3' }), ['eve@d.test']);
});

test('a setting that cannot be read is named, and its value is not repeated', () => {
  for (const [settings, name] of [
    [{ proxyUrl: 'ftp://ann:hunter22@a.test' }, 'PROXY_URL'],
    [{ proxyCustomUrls: 'http://a.test,http://ann:hunter22@b.test/path' }, 'PROXY_CUSTOM_URLS'],
  ] as const) {
    assert.throws(
      () => proxyWays({ ...NONE, ...settings }),
      (error) => error instanceof Error && error.message.startsWith(`${name}: must `) && !/hunter/.test(error.message),
    );
  }
});

test('passwords, users and the customer are secrets, and zones and addresses are not', () => {
  const secrets = proxySecrets({
    ...NONE,
    proxyUrl: 'http://u-main:p-main@a.test',
    proxyCustomer: 'hl_1',
    proxyDatacenterZone: 'dc',
    proxyDatacenterPassword: 'p-dc',
    proxyResidentialPassword: 'p-home',
    proxyWebUnlockerPassword: 'p-web',
    proxyCustomUrls: 'http://u%401:p%401@b.test,socks5://u2:p2@c.test,http://d.test',
  });
  assert.deepEqual([...secrets.values()].sort(), [
    ...['hl_1', 'p-dc', 'p-home', 'p-main', 'p-web', 'p2', 'p@1', 'u-main', 'u2', 'u@1'],
  ]);
  assert.ok([...secrets.keys()].includes('proxy_residential_password'));
});
