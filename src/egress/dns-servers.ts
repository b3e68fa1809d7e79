import { isIP } from 'node:net';

/** `9.9.9.9, 10.0.0.2:5353, [2620:fe::fe]:53`; empty for those of the system. Throws for an invalid entry. */
export function parseDnsServers(text: string): readonly string[] {
  const servers = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  for (const server of servers) {
    if (!isServer(server)) {
      throw new Error(`${server} is not a DNS server: give an IP address, or one with a port like 10.0.0.2:5353`);
    }
  }
  return servers;
}

function isServer(server: string): boolean {
  if (isIP(server) !== 0) return true;
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(server) ?? [];
  const isAddress = six === undefined ? isIP(four ?? '') === 4 : isIP(six) === 6;
  return isAddress && (port === undefined || (Number(port) > 0 && Number(port) < 65_536));
}
