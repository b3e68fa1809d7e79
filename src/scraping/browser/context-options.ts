import type { BrowserContextOptions } from 'playwright-core';
import type { BrowserPolicy, DeviceFields } from '../../domain/browser-policy.ts';
import { nearNames } from '../../domain/near-names.ts';
import type { Policy } from '../../domain/policy.ts';
import { DISGUISED_DESKTOP } from '../../egress/browser/disguise.ts';
import { fail } from '../scrape-failure.ts';

/** The policy's options for the contexts of a job. Those that the way out needs are added, and take precedence. */
export async function contextOptions({ browser: policy }: Pick<Policy, 'browser'>): Promise<BrowserContextOptions> {
  const { locale, timezone, stealth } = policy;
  const device = await deviceOptions(policy.device);
  if (stealth) {
    // Each page gets its identity from its way out: Playwright's options would contradict it in workers and headers.
    const { userAgent: _, ...looks } = device;
    return { acceptDownloads: true, ...DISGUISED_DESKTOP, ...looks };
  }
  return {
    acceptDownloads: true,
    ...device,
    locale: locale ?? DEFAULT_LOCALE,
    ...(timezone !== null && { timezoneId: timezone }),
  };
}

/** Without one, the browser sends no Accept-Language, unlike the browser of any person. */
export const DEFAULT_LOCALE = 'en-US';

/** Nothing for a desktop browser. */
export async function deviceOptions(device: BrowserPolicy['device']): Promise<BrowserContextOptions> {
  return typeof device === 'string' ? deviceNamed(device) : deviceOf(device ?? {});
}

/** It is the policy of the whole job that is wrong. */
async function deviceNamed(name: string): Promise<BrowserContextOptions> {
  const { devices } = await import('playwright-core');
  const found = devices[name];
  if (found !== undefined) {
    const { defaultBrowserType: _, ...options } = found;
    return options;
  }
  const near = nearNames(name, Object.keys(devices));
  const advice = near.length === 0 ? '' : `; there is ${near.join(', ')}`;
  return fail('proxy_config', `browser.device: Playwright does not know the device "${name}"${advice}`);
}

function deviceOf({
  viewport,
  user_agent,
  is_mobile,
  has_touch,
  device_scale_factor,
}: DeviceFields): BrowserContextOptions {
  return {
    ...(viewport !== undefined && { viewport }),
    ...(user_agent !== undefined && { userAgent: user_agent }),
    ...(is_mobile !== undefined && { isMobile: is_mobile }),
    ...(has_touch !== undefined && { hasTouch: has_touch }),
    ...(device_scale_factor !== undefined && { deviceScaleFactor: device_scale_factor }),
  };
}
