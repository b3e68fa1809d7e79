import { z } from 'zod';
import { errorMessage } from './error-message.ts';
import type { ProxyType } from './proxy-policy.ts';
import { type ProxyServer, parseProxyServer } from './proxy-server.ts';
import type { ProxyWay } from './proxy-way.ts';

/** Rows of the table in settings.ts: addresses of proxies, and our credentials. */
const text = z.string();
const none = { schema: text, fallback: '' } as const;
const secret = { ...none, isSecret: true } as const;

const DEFAULT_PROXY = 'brd.superproxy.io:44445';

export const PROXY_SETTINGS = {
  proxyUrl: {
    ...{ ...secret, variable: 'PROXY_URL', byDefault: `\`${DEFAULT_PROXY}\`` },
    about:
      'address of the proxy: `host:port`, or with `http://`, `https://`, `socks5://` or `socks5h://` before it ([proxies](proxies.md)). This and all other `PROXY_…` settings may also be in the file of `TRAWL_SECRETS_FILE`, by their names in lower case',
  },
  proxyCustomer: {
    ...{ ...secret, variable: 'PROXY_CUSTOMER' },
    about:
      'customer id at Bright Data. Required for proxies of the types `datacenter`, `residential` and `web_unlocker`',
  },
  proxyDatacenterZone: {
    ...{ ...none, variable: 'PROXY_DATACENTER_ZONE' },
    about: 'zone of datacenter proxies. Required for the type `datacenter`',
  },
  proxyDatacenterPassword: { ...{ ...secret, variable: 'PROXY_DATACENTER_PASSWORD' }, about: 'password of that zone' },
  proxyResidentialZone: {
    ...{ ...none, variable: 'PROXY_RESIDENTIAL_ZONE' },
    about: 'zone of residential proxies. Required for the type `residential`',
  },
  proxyResidentialPassword: {
    ...{ ...secret, variable: 'PROXY_RESIDENTIAL_PASSWORD' },
    about: 'password of that zone',
  },
  proxyWebUnlockerZone: {
    ...{ ...none, variable: 'PROXY_WEB_UNLOCKER_ZONE' },
    about: 'zone of the web unlocker. Required for the type `web_unlocker`',
  },
  proxyWebUnlockerPassword: {
    ...{ ...secret, variable: 'PROXY_WEB_UNLOCKER_PASSWORD' },
    about: 'password of that zone',
  },
  proxyCustomUrls: {
    ...{ ...secret, variable: 'PROXY_CUSTOM_URLS', byDefault: '`PROXY_URL`' },
    about:
      'proxies of the type `custom`, separated by commas: `http://user:password@host:port`, also with `https`, `socks5` or `socks5h`. Each item uses one of them, and the next one after a block',
  },
  proxyCaFile: {
    ...{ ...none, variable: 'PROXY_CA_FILE' },
    about:
      'a file with certificates in PEM to trust in addition, for requests through a proxy: that of an HTTPS proxy, or of a web unlocker, which decrypts',
  },
} as const;

export type ProxySettings = { readonly [Key in keyof typeof PROXY_SETTINGS]: string };

/** The kinds of proxy that are booked by zone, and their settings. */
const ZONES = {
  datacenter: { zone: 'proxyDatacenterZone', password: 'proxyDatacenterPassword' },
  residential: { zone: 'proxyResidentialZone', password: 'proxyResidentialPassword' },
  web_unlocker: { zone: 'proxyWebUnlockerZone', password: 'proxyWebUnlockerPassword' },
} as const satisfies Partial<Record<ProxyType, { zone: keyof ProxySettings; password: keyof ProxySettings }>>;

/** The name of a setting in a file of secrets, and in texts in which its value was masked. */
export function proxySecretName(key: keyof ProxySettings): string {
  return PROXY_SETTINGS[key].variable.toLowerCase();
}

/**
 * How to use each kind of proxy, by its type. Throws an Error that names a setting that cannot be read, never its
 * value.
 */
export function proxyWays(settings: ProxySettings): Readonly<Record<string, ProxyWay>> {
  const zones = Object.entries(ZONES).map(([type, keys]) => {
    const missing = (['proxyCustomer', keys.zone, keys.password] as const).filter((key) => settings[key] === '');
    if (missing.length > 0) return [type, unusable(type, missing)];
    const { proxyCustomer: customer, [keys.zone]: zone, [keys.password]: password } = settings;
    const server = { ...readServer('proxyUrl', settings.proxyUrl || DEFAULT_PROXY), user: '', password: '' };
    return [type, { kind: 'bright-data', type, server, account: { customer, zone }, password }];
  });
  const servers = customServers(settings);
  const custom = servers.length === 0 ? unusable('custom', ['proxyCustomUrls']) : { kind: 'list', servers };
  return Object.fromEntries([...zones, ['custom', custom]]);
}

function customServers({ proxyCustomUrls, proxyUrl }: ProxySettings): readonly ProxyServer[] {
  const urls = splitUrls(proxyCustomUrls);
  if (urls.length > 0) return urls.map((url) => readServer('proxyCustomUrls', url));
  return proxyUrl === '' ? [] : [readServer('proxyUrl', proxyUrl)];
}

function splitUrls(list: string): readonly string[] {
  return list.split(/[,\s]+/).filter((url) => url !== '');
}

function readServer(key: keyof ProxySettings, url: string): ProxyServer {
  try {
    return parseProxyServer(url);
  } catch (error) {
    throw new Error(`${PROXY_SETTINGS[key].variable}: ${errorMessage(error)}`);
  }
}

function unusable(type: string, missing: readonly (keyof ProxySettings)[]): ProxyWay {
  const names = missing.map((key) => PROXY_SETTINGS[key].variable);
  const are = names.length === 1 ? 'is not set: it is' : 'are not set: they are';
  const problem = `${names.join(', ')} ${are} needed for proxies of the type ${type}; set what is missing and restart the workers`;
  return { kind: 'unusable', problem };
}

/** Values that must not appear in any text, by name. A value that cannot be parsed is a secret as a whole. */
export function proxySecrets(settings: ProxySettings): ReadonlyMap<string, string> {
  const secrets = new Map<string, string>();
  const keys = Object.keys(PROXY_SETTINGS) as (keyof ProxySettings)[];
  for (const key of keys.filter((each) => 'isSecret' in PROXY_SETTINGS[each] && settings[each] !== '')) {
    const isUrl = key === 'proxyUrl' || key === 'proxyCustomUrls';
    const values = isUrl ? splitUrls(settings[key]).flatMap(credentialsIn) : [settings[key]];
    for (const [at, value] of values.entries()) {
      secrets.set(`${proxySecretName(key)}${at === 0 ? '' : `_${at + 1}`}`, value);
    }
  }
  return secrets;
}

function credentialsIn(url: string): readonly string[] {
  try {
    const { user, password } = parseProxyServer(url);
    return [password, user].filter((value) => value !== '');
  } catch {
    return [url];
  }
}
