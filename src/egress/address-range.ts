import { formatIp, type IpAddress, isMapped, parseIp } from './ip-address.ts';

/** All addresses that share their first `bits` bits with `start`. One address is a range of 32 or 128 bits. */
export interface AddressRange {
  readonly start: IpAddress;
  readonly bits: number;
}

/** Names that TRAWL_ALLOW_ADDRESSES accepts in place of ranges. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

const POSSIBLE = `an address (10.1.2.3, fd12::1), a range (10.0.0.0/8, fd12::/32) or a name (${Object.keys(NAMED).join(', ')})`;

/**
 * `10.0.0.0/8, loopback`: addresses that are allowed in addition to the public internet. Parsing is strict, because a
 * typo here opens or closes a network: `10.0.0.1/8` is refused rather than rounded down to `10.0.0.0/8`.
 */
export function parseAddressRanges(text: string): AddressRange[] {
  if (text.trim() === '') return [];
  return text.split(',').flatMap((entry) => {
    const name = entry.trim();
    const texts = Object.hasOwn(NAMED, name) ? (NAMED[name] ?? []) : [name];
    return texts.map(addressRange);
  });
}

/** One address or CIDR. */
export function addressRange(text: string): AddressRange {
  const [address = '', length, ...more] = text.split('/');
  const start = parseIp(address);
  if (start === null || more.length > 0) throw new Error(`"${text}" is not an address range: write ${POSSIBLE}`);
  const whole = start.bytes.length * 8;
  if (length !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(length)) {
    throw new Error(`"${text}" is not an address range: after the slash, write a number from 0 to ${whole}`);
  }
  const bits = length === undefined ? whole : Number(length);
  if (bits > whole) throw new Error(`"${text}" is not an address range: its addresses have ${whole} bits`);
  const first: IpAddress = { family: start.family, bytes: start.bytes.map((value, at) => value & mask(bits, at)) };
  if (formatIp(first) !== formatIp(start)) {
    throw new Error(`"${text}" is not an address range: it would begin at ${formatIp(first)}/${bits}`);
  }
  if (isMapped(start)) {
    throw new Error(`"${text}" is an IPv4-mapped address: write ${start.bytes.slice(12).join('.')}`);
  }
  return { start, bits };
}

/** Whether the range is a single address. */
export function isSingle({ start, bits }: AddressRange): boolean {
  return bits === start.bytes.length * 8;
}

/** Selects the bits of the byte at `at` that belong to the first `bits` bits of an address. */
function mask(bits: number, at: number): number {
  const covered = Math.min(8, Math.max(0, bits - 8 * at));
  return (0xff00 >> covered) & 0xff;
}
