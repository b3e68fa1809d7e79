import { type AddressRange, addressRange, isInRange, isSingle } from './address-range.ts';
import { formatIp, hiddenIpv4, type IpAddress, isMapped, parseIp } from './ip-address.ts';

/**
 * Which addresses may be dialled. Targets live on the public internet; whatever else an address may mean (this machine,
 * the network it stands in, the cloud's own services) is forbidden, unless the operator allowed it.
 *
 * What "allowed" covers:
 * - `::ffff:10.0.0.1` is dialled as 10.0.0.1 by the kernel, so it is allowed with it.
 * - In the other forms (6to4, NAT64, Teredo, ISATAP …) some relay decides where the packet goes. They need both: the
 *   IPv6 address itself must be dialable, and so must every IPv4 address hidden in it.
 * - A metadata service hands out the machine's credentials. It must be allowed by its own address: a wide range, or
 *   `private`, does not open it by accident.
 */
export class AddressRules {
  readonly #allowed: readonly AddressRange[];

  constructor(allowed: readonly AddressRange[]) {
    this.#allowed = allowed;
  }

  /** Null if it may be dialled; else the reason, as a sentence about the address. */
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
    if (this.#isAllowed(ip)) return null;
    if (isMetadata(ip)) return METADATA;
    const special = SPECIAL.find(({ range }) => isInRange(ip, range));
    if (special !== undefined) return special.what;
    return ip.family === 6 && !isInRange(ip, GLOBAL_UNICAST) ? 'outside of the public IPv6 addresses' : null;
  }

  #isAllowed(ip: IpAddress): boolean {
    return this.#allowed.some((range) => isInRange(ip, range) && (isSingle(range) || !isMetadata(ip)));
  }
}

function isMetadata(ip: IpAddress): boolean {
  return METADATA_ADDRESSES.some((range) => isInRange(ip, range));
}

const METADATA = "a cloud's own service (metadata, credentials)";

/**
 * AWS, Google, Azure and most others; AWS containers and pods; AWS and Google by IPv6; Alibaba; Oracle; and Azure's host
 * agent, which has an address of the public range.
 */
const METADATA_ADDRESSES = [
  ...['169.254.169.254', '169.254.170.2', '169.254.170.23', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'],
  ...['100.100.100.200', '192.0.0.192', '168.63.129.16'],
].map(addressRange);

/** All that IANA has given out as unicast of IPv6. What lies beyond is not routed, or special. */
const GLOBAL_UNICAST = addressRange('2000::/3');

/**
 * IANA's registries of special-purpose addresses (RFC 6890 and its successors), IPv4 and IPv6, with multicast and what
 * is reserved. The first that fits gives the reason. Parts of 192.0.0.0/24 and 2001::/23 are marked there as reachable
 * (anycast of protocols, ORCHID); no web site is among them.
 */
const SPECIAL: readonly { readonly range: AddressRange; readonly what: string }[] = [
  special('0.0.0.0/8', 'an address of "this network"'),
  special('10.0.0.0/8', 'a private address'),
  special('100.64.0.0/10', "a provider's inner address (shared address space)"),
  special('127.0.0.0/8', 'a loopback address'),
  special('169.254.0.0/16', 'a link-local address'),
  special('172.16.0.0/12', 'a private address'),
  special('192.0.0.0/24', 'reserved for protocols'),
  special('192.0.2.0/24', 'reserved for documentation'),
  special('192.88.99.0/24', 'a relay of 6to4'),
  special('192.168.0.0/16', 'a private address'),
  special('198.18.0.0/15', 'reserved for benchmarks'),
  special('198.51.100.0/24', 'reserved for documentation'),
  special('203.0.113.0/24', 'reserved for documentation'),
  special('224.0.0.0/4', 'a multicast address'),
  special('255.255.255.255', 'the broadcast address'),
  special('240.0.0.0/4', 'a reserved address'),

  special('::', 'the unspecified address'),
  special('::1', 'a loopback address'),
  special('::/96', 'an IPv4-compatible address'),
  special('::ffff:0:0:0/96', 'an IPv4-translated address'),
  special('64:ff9b::/96', 'an address of NAT64'),
  // Where the IPv4 address stands in it is up to the local network, so there is nothing to look at.
  special('64:ff9b:1::/48', 'an address of local NAT64'),
  special('100::/64', 'an address that discards'),
  special('100:0:0:1::/64', 'a dummy address'),
  special('2001::/32', 'an address of Teredo'),
  special('2001::/23', 'reserved for protocols'),
  special('2001:db8::/32', 'reserved for documentation'),
  special('2002::/16', 'an address of 6to4'),
  special('3fff::/20', 'reserved for documentation'),
  special('5f00::/16', 'a segment of a routed path (SRv6)'),
  special('fc00::/7', 'a private address'),
  special('fe80::/10', 'a link-local address'),
  special('fec0::/10', 'a site-local address'),
  special('ff00::/8', 'a multicast address'),
];

function special(range: string, what: string): { readonly range: AddressRange; readonly what: string } {
  return { range: addressRange(range), what };
}
