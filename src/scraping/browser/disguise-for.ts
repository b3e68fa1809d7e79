import type { BrowserPolicy } from '../../domain/browser-policy.ts';
import { type GeoTarget, PROXY_TYPES, supportedGeo } from '../../domain/proxy-policy.ts';
import { type VisitorPlace, visitorPlace } from '../../domain/visitor-place.ts';
import type { Disguise } from '../../egress/browser/disguise.ts';
import type { Exit } from '../../egress/web.ts';
import { DEFAULT_LOCALE, deviceOptions } from './context-options.ts';

/**
 * The identity of a disguised browser: from the policy, otherwise what fits the place of the proxy. Null without
 * `stealth`.
 */
export async function disguiseFor(policy: BrowserPolicy, exit: Exit): Promise<Disguise | null> {
  if (!policy.stealth) return null;
  const place = placeOf(exit);
  const { userAgent = null, isMobile = false } = await deviceOptions(policy.device);
  return {
    locale: policy.locale ?? place?.locale ?? DEFAULT_LOCALE,
    timezone: policy.timezone ?? place?.timezone ?? null,
    ...{ userAgent, isMobile },
  };
}

/** As far as this kind of proxy can choose it: the exits of a datacenter may be in any state. */
function placeOf({ dialer, geo }: Exit): VisitorPlace | null {
  const type = PROXY_TYPES.find((name) => name === dialer);
  if (type === undefined || geo === undefined) return null;
  const { country, ...more }: Partial<GeoTarget> = supportedGeo(type, geo);
  return country === undefined ? null : visitorPlace({ country, ...more });
}
