import { isIP } from 'node:net';
import type { Clock } from '../ports/clock.ts';
import { RereadFile } from './reread-file.ts';

/** Thirty thousand entries. Nothing after that is read. */
const MAX_BYTES = 1 << 20;

/** The addresses in `/etc/hosts`, by name. */
export class HostsFile {
  readonly #file: RereadFile;
  #text = '';
  #addresses: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(path: string, clock: Clock) {
    this.#file = new RereadFile(path, MAX_BYTES, clock);
  }

  /** All addresses of a name in lower case, in the order of the file; empty if the file does not contain it. */
  async addressesOf(name: string): Promise<readonly string[]> {
    const text = await this.#file.text();
    if (text !== this.#text) {
      this.#text = text;
      this.#addresses = parseHosts(text);
    }
    return this.#addresses.get(name) ?? [];
  }
}

export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const known = found.get(key);
      if (known === undefined) found.set(key, [address]);
      else if (!known.includes(address)) known.push(address);
    }
  }
  return found;
}
