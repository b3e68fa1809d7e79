import { brandList } from '../../domain/brands.ts';

/**
 * Our identity towards a site: one of a handful of common desktop browsers, with exactly the headers that it sends. The
 * same item with the same identity number always has the same one; the next number is always another.
 */
export interface Identity {
  readonly userAgent: string;
  /** `sec-ch-ua…`: only Chromium sends them, and only over TLS. */
  readonly clientHints: Readonly<Record<string, string>>;
  readonly acceptLanguage: string;
  readonly acceptPage: string;
}

export function chooseIdentity(who: {
  readonly jobId: string;
  readonly itemId: string;
  readonly identity: number;
}): Identity {
  const start = hash(`${who.jobId}\n${who.itemId}`) % IDENTITIES.length;
  const found = IDENTITIES[(start + who.identity) % IDENTITIES.length];
  if (found === undefined) throw new RangeError(`identity ${who.identity} is not a count`);
  return found;
}

/**
 * Stable releases of autumn 2026. Sites that check them object when they are years old: update them with the packages.
 */
const CHROMIUM = 156;
const FIREFOX = 156;

const WINDOWS = { agent: 'Windows NT 10.0; Win64; x64', hint: '"Windows"' };
const MAC = { agent: 'Macintosh; Intel Mac OS X 10_15_7', hint: '"macOS"' };
export const LINUX = { agent: 'X11; Linux x86_64', hint: '"Linux"' };

const IDENTITIES: readonly Identity[] = [
  chromiumIdentity('Google Chrome', WINDOWS, CHROMIUM),
  firefox('Windows NT 10.0; Win64; x64', FIREFOX),
  chromiumIdentity('Google Chrome', MAC, CHROMIUM),
  chromiumIdentity('Microsoft Edge', WINDOWS, CHROMIUM),
  chromiumIdentity('Google Chrome', WINDOWS, CHROMIUM - 1),
  firefox('Macintosh; Intel Mac OS X 10.15', FIREFOX),
  chromiumIdentity('Google Chrome', LINUX, CHROMIUM),
];

/** The browser of this brand and version. */
export function chromiumIdentity(
  brand: string,
  system: { readonly agent: string; readonly hint: string },
  version: number,
): Identity {
  const edge = brand === 'Microsoft Edge' ? ` Edg/${version}.0.0.0` : '';
  return {
    userAgent: `Mozilla/5.0 (${system.agent}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0 Safari/537.36${edge}`,
    clientHints: {
      'sec-ch-ua': brandList(brand, version),
      'sec-ch-ua-mobile': '?0',
      'sec-ch-ua-platform': system.hint,
    },
    acceptLanguage: 'en-US,en;q=0.9',
    acceptPage:
      'text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  };
}

function firefox(system: string, version: number): Identity {
  return {
    userAgent: `Mozilla/5.0 (${system}; rv:${version}.0) Gecko/20100101 Firefox/${version}.0`,
    clientHints: {},
    acceptLanguage: 'en-US,en;q=0.5',
    acceptPage: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  };
}

/** FNV-1a: the same on every machine and in every version. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}
