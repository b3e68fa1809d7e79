import { z } from 'zod';

/** How requests of a job reach a site: `none` uses our own address. */
export const PROXY_TYPES = ['none', 'datacenter', 'residential', 'web_unlocker', 'custom'] as const;
export type ProxyType = (typeof PROXY_TYPES)[number];

/** A place, in order of size. */
const GEO_FIELDS = ['country', 'state', 'city'] as const;
type GeoField = (typeof GEO_FIELDS)[number];

export interface GeoTarget {
  readonly country: string;
  readonly state?: string | undefined;
  readonly city?: string | undefined;
}

/** The parts of a place by which the exits of a proxy can be chosen. */
const GEO_SUPPORT: Readonly<Record<ProxyType, readonly GeoField[]>> = {
  none: [],
  datacenter: ['country'],
  residential: ['country', 'state', 'city'],
  web_unlocker: ['country'],
  custom: [],
};

/** Other spellings that users know. Only the name in PROXY_TYPES is stored. */
const ALIASES: Readonly<Record<string, ProxyType>> = { 'web-unlocker': 'web_unlocker' };

const proxyType = z
  .enum([...PROXY_TYPES, 'web-unlocker'])
  .overwrite((given) => ALIASES[given] ?? given) as unknown as z.ZodType<ProxyType, ProxyType | 'web-unlocker'>;

const code = z
  .string()
  .regex(/^[a-z]{2}$/i, 'must be a code of two letters')
  .toLowerCase();

const geoTarget = z
  .strictObject({
    country: code
      .meta({ description: 'Two-letter code, such as us. The default is us if a state is given.' })
      .optional(),
    state: code.meta({ description: 'Two-letter code, such as az. Residential proxies only.' }).optional(),
    city: z
      .string()
      .min(1)
      .max(100)
      .refine((city) => plainCity(city) !== '', 'must have letters or digits')
      .meta({ description: 'Name of the city, with a country or a state. Residential proxies only.' })
      .optional(),
  })
  .overwrite((geo) => (geo.state === undefined ? geo : { ...geo, country: geo.country ?? 'us' }))
  .refine(({ country }) => country !== undefined, {
    path: ['country'],
    error: 'is required without a state: many countries have a city of that name',
  }) as unknown as z.ZodType<GeoTarget, Partial<GeoTarget>>;

export const proxySchema = z
  .strictObject({
    type: proxyType.meta({ description: 'Kind of proxy to use. none: requests use our own address.' }).default('none'),
    geo_target: geoTarget
      .nullable()
      .meta({ description: 'Where the exits of the proxy should be; null for anywhere.' })
      .default(null),
    session: z
      .enum(['sticky', 'rotate'])
      .meta({
        description: 'sticky: one exit address per item, another one after a block. rotate: another one per request.',
      })
      .default('sticky'),
    escalate: z
      .array(proxyType)
      .max(PROXY_TYPES.length)
      .refine((types) => new Set(types).size === types.length, 'must not list a type twice')
      .meta({
        description:
          'Kinds of proxy to try next, in order, when a site blocks an item: ["datacenter", "residential"]. When most ' +
          'items need the next kind, the job starts with it.',
      })
      .default([]),
  })
  .meta({ description: 'How requests reach the site.' });

export type ProxyPolicy = z.output<typeof proxySchema>;

/**
 * The kinds of proxy that an item climbs through: `type`, then the kinds after it in `escalate`. A list that contains
 * `type` itself, such as the default ["none", "datacenter"], is followed from there.
 */
export function proxyLadder({ type, escalate }: Pick<ProxyPolicy, 'type' | 'escalate'>): readonly ProxyType[] {
  const at = escalate.indexOf(type);
  return at < 0 ? [type, ...escalate] : escalate.slice(at);
}

/** The part of a place that this kind of proxy can choose its exits by. */
export function supportedGeo(type: ProxyType, geo: GeoTarget | null): Partial<GeoTarget> {
  if (geo === null) return {};
  return Object.fromEntries(
    GEO_SUPPORT[type].flatMap((field) => (geo[field] === undefined ? [] : [[field, geo[field]]])),
  );
}

/** As the user names of proxies spell it: Los Angeles is losangeles, San José sanjose. */
export function plainCity(city: string): string {
  return city
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
}

interface PolicyWarning {
  /** Path within the policy. */
  readonly path: string;
  readonly message: string;
}

/** What the policy asks for but its proxies cannot do. The job works without it. */
export function proxyWarnings(proxy: ProxyPolicy): readonly PolicyWarning[] {
  const { geo_target: geo, session } = proxy;
  const types = proxyLadder(proxy).filter((type) => type !== 'none');
  const warnings: PolicyWarning[] = [];
  if (types.length === 0) {
    const message = 'has no effect: no proxy is used, because proxy.type is none';
    if (geo !== null) warnings.push({ path: 'proxy.geo_target', message });
    if (session === 'rotate') warnings.push({ path: 'proxy.session', message });
    return warnings;
  }
  for (const type of types) {
    const support = GEO_SUPPORT[type];
    const ignored = GEO_FIELDS.filter((field) => geo?.[field] !== undefined && !support.includes(field));
    const can = support.length === 0 ? 'cannot be chosen by place' : `can only be chosen by ${support.join(', ')}`;
    for (const field of ignored) {
      warnings.push({ path: `proxy.geo_target.${field}`, message: `is ignored: ${TYPE_NAMES[type]} ${can}` });
    }
  }
  return warnings;
}

const TYPE_NAMES: Readonly<Record<ProxyType, string>> = {
  none: 'direct connections',
  datacenter: 'datacenter proxies',
  residential: 'residential proxies',
  web_unlocker: 'exits of the web unlocker',
  custom: 'custom proxies',
};
