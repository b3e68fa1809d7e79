import { brandsOf } from '../../domain/brands.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { languagesFor } from '../../domain/visitor-place.ts';
import type { CdpSession } from './cdp-session.ts';

/** Who the browser pretends to be: a person's Chrome of the same version and system, in this place. */
export interface Disguise {
  readonly locale: string;
  /** Null for the time zone of this machine. */
  readonly timezone: string | null;
  /** User agent of a device that the policy names; null for a desktop. */
  readonly userAgent: string | null;
  readonly isMobile: boolean;
}

/**
 * Options of a disguised context, in Playwright's terms: a window that is smaller than its screen. Playwright's options
 * for language, time zone and user agent must be left out: with them, client hints would say HeadlessChrome, and
 * workers would be unaffected.
 */
export const DISGUISED_DESKTOP = {
  viewport: { width: 1440, height: 789 },
  screen: { width: 1440, height: 900 },
} as const;

/** Applies the disguise to this page, its frames and its workers. Rejects if the page is gone. */
export async function disguisePage(session: CdpSession, disguise: Disguise): Promise<void> {
  const about = (await session.send('Browser.getVersion')) as { readonly userAgent: string; readonly product: string };
  const { locale, timezone } = disguise;
  await Promise.all([
    session.send('Emulation.setUserAgentOverride', overrideFor(about, disguise)),
    onceForAll(session.send('Emulation.setLocaleOverride', { locale: locale.replace('-', '_') })),
    timezone === null ? null : onceForAll(session.send('Emulation.setTimezoneOverride', { timezoneId: timezone })),
  ]);
}

/** A pop-up shares the process of its opener, and with it the language and time zone already set. */
async function onceForAll(sent: Promise<unknown>): Promise<void> {
  await sent.catch((error: unknown) => {
    if (!/override is already in effect/.test(errorMessage(error))) throw error;
  });
}

/**
 * Parameters of `Emulation.setUserAgentOverride`. The system stays that of this machine: fonts, canvas and workers
 * would contradict another one. A browser outside the Chromium family sends no client hints.
 */
export function overrideFor(
  { userAgent, product }: { readonly userAgent: string; readonly product: string },
  disguise: Disguise,
): object {
  const full = /\/([\d.]+)/.exec(product)?.[1] ?? '';
  const version = Number.parseInt(full, 10);
  const reduced = `${version}.0.0.0`;
  const agent = (disguise.userAgent ?? userAgent).replace(/(?:Headless)?Chrome\/[\d.]+/, `Chrome/${reduced}`);
  const acceptLanguage = languagesFor(disguise.locale).join(',');
  if (!agent.includes('Chrome/')) return { userAgent: agent, acceptLanguage };
  const android = /Android ([\d.]+); ([^;)]+)/.exec(agent);
  return {
    userAgent: agent,
    acceptLanguage,
    userAgentMetadata: {
      brands: brandsOf('Google Chrome', version),
      fullVersionList: brandsOf('Google Chrome', version, full),
      platform: systemOf(agent),
      platformVersion: android?.[1] ?? '',
      architecture: android === null ? (/arm|aarch64/i.test(agent) ? 'arm' : 'x86') : '',
      bitness: android === null ? '64' : '',
      model: disguise.isMobile ? (android?.[2] ?? '').replace(/ Build\/.*/, '') : '',
      mobile: disguise.isMobile,
      wow64: false,
    },
  };
}

function systemOf(userAgent: string): string {
  if (/Android/.test(userAgent)) return 'Android';
  if (/Windows/.test(userAgent)) return 'Windows';
  return /Mac OS/.test(userAgent) ? 'macOS' : 'Linux';
}
