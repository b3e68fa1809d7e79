import { z } from 'zod';
import type { ProxyType } from './proxy-policy.ts';
import type { Usage } from './usage.ts';

/** The price of a kind of proxy, in the operator's currency. */
interface Price {
  readonly perGb?: number;
  readonly perThousandRequests?: number;
}

/** Our own address costs nothing; a kind that is missing has an unknown price. */
export type Prices = Readonly<Partial<Record<ProxyType, Price>>>;

export const NO_PRICES: Prices = {};

/** Decimal, as providers bill it. */
const BYTES_PER_GB = 1e9;

/** Null if some of it went through a proxy with an unknown price. */
export function costOf(usage: Usage, prices: Prices): number | null {
  let cost = 0;
  for (const { proxy, requests, bytesUp, bytesDown } of usage) {
    if (proxy === 'none') continue;
    const price = prices[proxy];
    if (price === undefined) return null;
    cost += ((bytesUp + bytesDown) / BYTES_PER_GB) * (price.perGb ?? 0);
    cost += (requests / 1000) * (price.perThousandRequests ?? 0);
  }
  // Sums of fractions: a price of 0.1 must not become a cost of 0.30000000000000004.
  return Number(cost.toPrecision(12));
}

/** Rows of the table in settings.ts. Controllers use them, workers do not. */
const priceRow = { schema: z.coerce.number().finite().min(0).nullable(), fallback: null, isForWorkers: false } as const;

export const PRICE_SETTINGS = {
  pricePerGbDatacenter: {
    ...{ ...priceRow, variable: 'PRICE_PER_GB_DATACENTER', byDefault: 'unknown' },
    about:
      'price of 1 GB (1,000,000,000 bytes, up and down) through datacenter proxies, in any currency: for the cost that jobs show, and for `budget.max_cost` ([budgets](proxies.md#what-a-job-uses-and-costs))',
  },
  pricePerGbResidential: {
    ...{ ...priceRow, variable: 'PRICE_PER_GB_RESIDENTIAL', byDefault: 'unknown' },
    about: 'the same for residential proxies',
  },
  pricePerGbWebUnlocker: {
    ...{ ...priceRow, variable: 'PRICE_PER_GB_WEB_UNLOCKER', byDefault: 'unknown' },
    about: 'the same for the web unlocker',
  },
  pricePerThousandRequestsWebUnlocker: {
    ...{ ...priceRow, variable: 'PRICE_PER_THOUSAND_REQUESTS_WEB_UNLOCKER', byDefault: 'unknown' },
    about: 'price of 1,000 requests through the web unlocker, in addition to its price per GB if both are set',
  },
  pricePerGbCustom: {
    ...{ ...priceRow, variable: 'PRICE_PER_GB_CUSTOM', byDefault: 'unknown' },
    about: 'price of 1 GB through proxies of the type `custom`',
  },
} as const;

export type PriceSettings = { readonly [Key in keyof typeof PRICE_SETTINGS]: number | null };

/** By kind of proxy: the settings of its prices. */
const SETTINGS_OF = {
  datacenter: { perGb: 'pricePerGbDatacenter' },
  residential: { perGb: 'pricePerGbResidential' },
  web_unlocker: { perGb: 'pricePerGbWebUnlocker', perThousandRequests: 'pricePerThousandRequestsWebUnlocker' },
  custom: { perGb: 'pricePerGbCustom' },
} as const satisfies Record<Exclude<ProxyType, 'none'>, Partial<Record<keyof Price, keyof PriceSettings>>>;

type PricedType = keyof typeof SETTINGS_OF;

export function pricesOf(settings: PriceSettings): Prices {
  const prices: Partial<Record<ProxyType, Price>> = {};
  for (const [type, keys] of Object.entries(SETTINGS_OF) as [
    PricedType,
    Partial<Record<keyof Price, keyof PriceSettings>>,
  ][]) {
    const { perGb, perThousandRequests } = keys;
    const gb = perGb === undefined ? null : settings[perGb];
    const requests = perThousandRequests === undefined ? null : settings[perThousandRequests];
    if (gb === null && requests === null) continue;
    prices[type] = {
      ...(gb === null ? {} : { perGb: gb }),
      ...(requests === null ? {} : { perThousandRequests: requests }),
    };
  }
  return prices;
}

/** The variables that determine the price of this kind; at least one of them must be set. */
export function priceVariables(type: PricedType): readonly string[] {
  return Object.values(SETTINGS_OF[type]).map((key) => PRICE_SETTINGS[key].variable);
}
