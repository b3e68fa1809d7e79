import { brandList } from '../../domain/brands.ts';
import type { Identity } from '../http/identity.ts';

/**
 * The identity of a browser scraper's HTTP client: that of the browser, as soon as there is one. Many sites bind a
 * session to both.
 */
export class BrowserIdentity implements Identity {
  #identity: Identity;

  constructor(before: Identity) {
    this.#identity = before;
  }

  get userAgent(): string {
    return this.#identity.userAgent;
  }

  get clientHints(): Identity['clientHints'] {
    return this.#identity.clientHints;
  }

  get acceptLanguage(): string {
    return this.#identity.acceptLanguage;
  }

  get acceptPage(): string {
    return this.#identity.acceptPage;
  }

  adopt({ userAgent, locale }: BrowserName): void {
    const version = /(Headless)?Chrome\/(\d+)/.exec(userAgent);
    const brand = version?.[1] === undefined ? 'Google Chrome' : 'HeadlessChrome';
    const clientHints =
      version?.[2] === undefined
        ? {}
        : {
            'sec-ch-ua': brandList(brand, Number(version[2])),
            'sec-ch-ua-mobile': /Mobile/.test(userAgent) ? '?1' : '?0',
            'sec-ch-ua-platform': `"${platformOf(userAgent)}"`,
          };
    this.#identity = {
      ...{ userAgent, clientHints },
      acceptLanguage: locale.includes('-') ? `${locale},${locale.split('-')[0]};q=0.9` : locale,
      acceptPage:
        'text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
    };
  }
}

/** What a browser says about itself. */
export interface BrowserName {
  readonly userAgent: string;
  readonly locale: string;
}

function platformOf(userAgent: string): string {
  if (/Android/.test(userAgent)) return 'Android';
  if (/Windows/.test(userAgent)) return 'Windows';
  return /Mac OS/.test(userAgent) ? 'macOS' : 'Linux';
}
