import { isIPv4, isIPv6 } from 'node:net';

/** Four or sixteen bytes: an address may be written in several ways, but has the same bytes. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly bytes: readonly number[];
}

/** An IPv4 address inside an IPv6 address, and the mechanism that would unpack it. */
interface HiddenIpv4 {
  readonly form: string;
  readonly address: IpAddress;
}

/**
 * Accepts canonical text only: four decimal numbers, or IPv6 without brackets and without a zone. The short, octal and
 * hexadecimal forms of IPv4 are not addresses here; in a URL, the parser has already turned them into four numbers.
 */
export function parseIp(text: string): IpAddress | null {
  if (isIPv4(text)) return { family: 4, bytes: text.split('.').map(Number) };
  // Node accepts `fe80::1%eth0` as an address. With its zone, it is only valid on this machine.
  if (!isIPv6(text) || text.includes('%')) return null;
  const [head = '', tail] = text.split('::');
  const front = groups(head);
  const back = groups(tail ?? '');
  const zeros = new Array<number>(16 - front.length - back.length).fill(0);
  return { family: 6, bytes: [...front, ...zeros, ...back] };
}

/** Decimal for IPv4; for IPv6 the short form of RFC 5952, except for the mapped one, which shows its IPv4 address. */
export function formatIp({ family, bytes }: IpAddress): string {
  if (family === 4) return bytes.join('.');
  if (isMapped({ family, bytes })) return `::ffff:${bytes.slice(12).join('.')}`;
  const words = Array.from({ length: 8 }, (_, at) =>
    ((byte(bytes, 2 * at) << 8) | byte(bytes, 2 * at + 1)).toString(16),
  );
  // URLs write IPv6 hosts in this form, in brackets.
  return new URL(`http://[${words.join(':')}]`).hostname.slice(1, -1);
}

export function sameIp(a: IpAddress, b: IpAddress): boolean {
  return a.family === b.family && a.bytes.every((value, at) => value === b.bytes[at]);
}

/** ::ffff:a.b.c.d. The kernel dials it by IPv4: it is another notation for the same host, not a tunnel. */
export function isMapped({ family, bytes }: IpAddress): boolean {
  return family === 6 && startsWith(bytes, MAPPED);
}

/**
 * Every IPv4 address that a machine on the way may extract from this one. A router may be a 6to4, NAT64 or Teredo relay
 * without our knowledge; it delivers what it unpacks.
 */
export function hiddenIpv4(ip: IpAddress): readonly HiddenIpv4[] {
  if (ip.family === 4) return [];
  const { bytes } = ip;
  const found: HiddenIpv4[] = [];
  const add = (form: string, at: number, mask = 0) =>
    found.push({ form, address: { family: 4, bytes: bytes.slice(at, at + 4).map((value) => value ^ mask) } });

  if (isMapped(ip)) add('IPv4-mapped', 12);
  if (startsWith(bytes, SIIT)) add('IPv4-translated', 12);
  // `::` and `::1` are addresses of their own and hide nothing.
  if (startsWith(bytes, COMPATIBLE) && bytes.slice(12).some((value, at) => value > (at === 3 ? 1 : 0))) {
    add('IPv4-compatible', 12);
  }
  if (startsWith(bytes, NAT64)) add('NAT64', 12);
  if (startsWith(bytes, SIX_TO_FOUR)) add('6to4', 2);
  if (startsWith(bytes, TEREDO)) {
    add('Teredo (server)', 4);
    add('Teredo (client)', 12, 0xff);
  }
  // An interface id that may follow any network prefix; the bit 0x02 means that the IPv4 address is public.
  if (startsWith(bytes.slice(8), ISATAP) || startsWith(bytes.slice(8), ISATAP_PUBLIC)) add('ISATAP', 12);
  return found;
}

const COMPATIBLE = new Array<number>(12).fill(0);
const MAPPED = [...new Array<number>(10).fill(0), 0xff, 0xff];
const SIIT = [...new Array<number>(8).fill(0), 0xff, 0xff, 0, 0];
const NAT64 = [0, 0x64, 0xff, 0x9b, ...new Array<number>(8).fill(0)];
const SIX_TO_FOUR = [0x20, 0x02];
const TEREDO = [0x20, 0x01, 0, 0];
const ISATAP = [0, 0, 0x5e, 0xfe];
const ISATAP_PUBLIC = [0x02, 0, 0x5e, 0xfe];

function startsWith(bytes: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((value, at) => bytes[at] === value);
}

function byte(bytes: readonly number[], at: number): number {
  return bytes[at] ?? 0;
}

/** The bytes of `a:b:c` or `a:b:1.2.3.4`, already validated by Node. */
function groups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const word = Number.parseInt(group, 16);
    return [word >> 8, word & 0xff];
  });
}
