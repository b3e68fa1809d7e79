import { type AddressRange, addressRange, isSingle } from './address-range.ts';
import { AddressSet } from './address-set.ts';
import { formatIp, hiddenIpv4, type IpAddress, isMapped, parseIp } from './ip-address.ts';

/**
 * Which addresses may be dialled. Targets are on the public internet; every other kind of address (this machine, its local
 * network, the cloud's own services) is forbidden unless the operator allowed it.
 *
 * What "allowed" covers:
 * - `::ffff:10.0.0.1` is dialled as 10.0.0.1 by the kernel, so it is allowed with it.
 * - In the other forms (6to4, NAT64, Teredo, ISATAP …) some relay decides where the packet goes. They need both: the
 *   IPv6 address itself must be dialable, and so must every IPv4 address hidden in it.
 * - A metadata service hands out the machine's credentials. It must be allowed by its own address: a wide range, or
 *   `private`, does not open it by accident.
 */
export class AddressRules {
  readonly #allowed: AddressSet;
  /** Single addresses, which also allow a metadata service. */
  readonly #allowedByName: AddressSet;

  constructor(allowed: readonly AddressRange[]) {
    this.#allowed = new AddressSet(allowed);
    this.#allowedByName = new AddressSet(allowed.filter(isSingle));
  }

  /** Null if it may be dialled, otherwise the reason as a sentence about the address. */
  judge(address: string): null | string {
    const ip = parseIp(address);
    if (ip === null) {
      return address.includes('%')
        ? `${address} names an interface of this machine`
        : `${address} is not an IP address`;
    }
    const hidden = hiddenIpv4(ip);
    if (isMapped(ip) && hidden.every((each) => this.#isAllowed(each.address))) return null;
    for (const { form, address: inner } of hidden) {
      const reason = this.#forbids(inner);
      if (reason !== null) return `${formatIp(ip)} leads to ${formatIp(inner)} (${form}), which is ${reason}`;
    }
    const reason = this.#forbids(ip);
    return reason === null ? null : `${formatIp(ip)} is ${reason}`;
  }

  #forbids(ip: IpAddress): string | null {
    const text = formatIp(ip);
    const isMetadata = METADATA.has(ip, text);
    if (this.#isAllowed(ip, text, isMetadata)) return null;
    if (isMetadata) return "a cloud's own service (metadata, credentials)";
    const special = SPECIAL.find(({ set }) => set.has(ip, text));
    if (special !== undefined) return special.what;
    return ip.family === 6 && !GLOBAL_UNICAST.has(ip, text) ? 'outside of the public IPv6 addresses' : null;
  }

  #isAllowed(ip: IpAddress, text = formatIp(ip), isMetadata = METADATA.has(ip, text)): boolean {
    return (isMetadata ? this.#allowedByName : this.#allowed).has(ip, text);
  }
}

/**
 * AWS, Google, Azure and most others; AWS containers and pods; AWS and Google by IPv6; Alibaba; Oracle; and Azure's host
 * agent, which has an address of the public range.
 */
const METADATA = setOf(
  ...['169.254.169.254', '169.254.170.2', '169.254.170.23', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'],
  ...['100.100.100.200', '192.0.0.192', '168.63.129.16'],
);

/** Everything that IANA has assigned as IPv6 unicast. Other addresses are special or not routed. */
const GLOBAL_UNICAST = setOf('2000::/3');

/**
 * IANA's registries of special-purpose addresses (RFC 6890 and its successors), IPv4 and IPv6, plus multicast and reserved
 * ranges. The first entry that matches gives the reason. Parts of 192.0.0.0/24 and 2001::/23 are marked there as reachable
 * (anycast of protocols, ORCHID); no web site is among them.
 */
const SPECIAL: readonly { readonly what: string; readonly set: AddressSet }[] = [
  special('an address of "this network"', '0.0.0.0/8'),
  special('a private address', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'),
  special("a provider's inner address (shared address space)", '100.64.0.0/10'),
  special('a loopback address', '127.0.0.0/8', '::1'),
  special('a link-local address', '169.254.0.0/16', 'fe80::/10'),
  special('a relay of 6to4', '192.88.99.0/24'),
  special(
    'reserved for documentation',
    '192.0.2.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001:db8::/32',
    '3fff::/20',
  ),
  special('reserved for benchmarks', '198.18.0.0/15'),
  special('a multicast address', '224.0.0.0/4', 'ff00::/8'),
  special('the broadcast address', '255.255.255.255'),
  special('a reserved address', '240.0.0.0/4'),
  special('the unspecified address', '::'),
  special('an IPv4-compatible address', '::/96'),
  special('an IPv4-translated address', '::ffff:0:0:0/96'),
  special('an address of NAT64', '64:ff9b::/96'),
  // The local network decides where the IPv4 address is in it, so it cannot be read and judged.
  special('an address of local NAT64', '64:ff9b:1::/48'),
  special('an address that discards', '100::/64'),
  special('a dummy address', '100:0:0:1::/64'),
  special('an address of Teredo', '2001::/32'),
  special('reserved for protocols', '192.0.0.0/24', '2001::/23'),
  special('an address of 6to4', '2002::/16'),
  special('a segment of a routed path (SRv6)', '5f00::/16'),
  special('a site-local address', 'fec0::/10'),
];

function special(what: string, ...ranges: string[]): { readonly what: string; readonly set: AddressSet } {
  return { what, set: setOf(...ranges) };
}

function setOf(...ranges: string[]): AddressSet {
  return new AddressSet(ranges.map(addressRange));
}
