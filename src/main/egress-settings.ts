import { readFileSync } from 'node:fs';
import { type Config, ConfigError, loadProxySettings } from '../config.ts';
import { errorMessage } from '../domain/error-message.ts';
import type { ProxyType } from '../domain/proxy-policy.ts';
import { proxyWays } from '../domain/proxy-settings.ts';
import { parseAddressRanges } from '../egress/address-range.ts';
import { AddressRules } from '../egress/address-rules.ts';
import { parseDnsServers } from '../egress/dns-servers.ts';
import type { Proxies } from '../egress/proxy-dialers.ts';
import { parseRoutes } from '../egress/routes.ts';

/** What the settings say about egress; throws a ConfigError that names the setting it cannot read. */
export function egressSettings(config: Config) {
  const { allowAddresses, routes, dnsServers } = config;
  return {
    rules: new AddressRules(setting('TRAWL_ALLOW_ADDRESSES', () => parseAddressRanges(allowAddresses))),
    routes: setting('TRAWL_ROUTES', () => parseRoutes(routes)),
    dnsServers: setting('TRAWL_DNS_SERVERS', () => parseDnsServers(dnsServers)),
    proxies: readProxies(config),
  };
}

/** What a kind of proxy lacks for workers with this configuration; null if nothing. */
export function proxyProblem(config: Config, type: ProxyType): string | null {
  try {
    const way = readProxies(config).ways[type];
    return way?.kind === 'unusable' ? way.problem : null;
  } catch (error) {
    return errorMessage(error);
  }
}

function readProxies(config: Config): Proxies {
  const settings = loadProxySettings(config);
  const { proxyCaFile } = settings;
  const ca = proxyCaFile === '' ? null : setting('PROXY_CA_FILE', () => readCertificates(proxyCaFile));
  try {
    return { ways: proxyWays(settings), ca };
  } catch (error) {
    throw new ConfigError(errorMessage(error));
  }
}

function readCertificates(file: string): string {
  const text = readFileSync(file, 'utf8');
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error(`${file} has no certificate in PEM`);
  return text;
}

function setting<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ConfigError(`${name}: ${errorMessage(error)}`);
  }
}
