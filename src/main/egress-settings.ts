import { type Config, ConfigError } from '../config.ts';
import { errorMessage } from '../domain/error-message.ts';
import { parseAddressRanges } from '../egress/address-range.ts';
import { AddressRules } from '../egress/address-rules.ts';
import { parseDnsServers } from '../egress/dns-servers.ts';
import { parseRoutes } from '../egress/routes.ts';

/** What the settings say about egress; throws a ConfigError that names the setting it cannot read. */
export function egressSettings({ allowAddresses, routes, dnsServers }: Config) {
  return {
    rules: new AddressRules(setting('TRAWL_ALLOW_ADDRESSES', () => parseAddressRanges(allowAddresses))),
    routes: setting('TRAWL_ROUTES', () => parseRoutes(routes)),
    dnsServers: setting('TRAWL_DNS_SERVERS', () => parseDnsServers(dnsServers)),
  };
}

function setting<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ConfigError(`${name}: ${errorMessage(error)}`);
  }
}
