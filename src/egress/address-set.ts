import { BlockList } from 'node:net';
import type { AddressRange } from './address-range.ts';
import { formatIp, type IpAddress } from './ip-address.ts';

/**
 * The addresses of some ranges. There is one list per family, because a single BlockList also finds `::ffff:10.0.0.1` in
 * an IPv4 range and 10.0.0.1 in `::/0`. For us those are different addresses: see address-rules.ts.
 */
export class AddressSet {
  readonly #four = new BlockList();
  readonly #six = new BlockList();

  constructor(ranges: readonly AddressRange[]) {
    for (const { start, bits } of ranges) {
      if (start.family === 4) this.#four.addSubnet(formatIp(start), bits, 'ipv4');
      else this.#six.addSubnet(formatIp(start), bits, 'ipv6');
    }
  }

  /** `text` is the address as Node reads it: written once by the caller, who asks several sets about one address. */
  has({ family }: IpAddress, text: string): boolean {
    return family === 4 ? this.#four.check(text, 'ipv4') : this.#six.check(text, 'ipv6');
  }
}
