import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { type Policy, policySchema } from '../src/domain/policy.ts';

/** Writes the tables of policy.md from the schema that policies are checked with. A test fails when they are out of date. */

export const COMMAND = 'node docs/generate-policy.ts';

export const PAGE = new URL('policy.md', import.meta.url);

type Section = Exclude<keyof Policy, 'robots'>;

/** The schema says what a field does; this says when to change it. The compiler requires an entry for each field. */
const CHANGE_WHEN: { readonly [Name in Section]: Readonly<Record<keyof Policy[Name], string>> } & { robots: string } = {
  throttling: {
    max_concurrent_workers:
      'The default is careful. Raise it for a large site, lower it if you see `rate_limited`, `blocked` or timeouts.',
    min_delay_between_items_seconds: 'If the site asks for a pause between visits, such as a crawl delay.',
    max_requests_per_second:
      'If the site or its API has a rate limit for this job. To limit all jobs together, set the limit of the host.',
    weight: 'If one of several jobs on the same host is more urgent: with 2 it gets twice the share of the others.',
    adaptive: 'Rarely. Without it, refusals never lower the concurrency.',
  },
  proxy: {
    type: 'If the site refuses the addresses of your workers, or is only open to its own country.',
    geo_target:
      'If the site answers differently elsewhere. A place that the proxy cannot choose is ignored, with a warning.',
    session: '`rotate` only if the requests of an item are independent. Sites with a session expect one address.',
    escalate: 'To pay for a proxy only when the site blocks. Each step uses one of `max_retries`.',
  },
  retries: {
    max_retries: 'Raise it for an unreliable site. 0 turns off retries, including those of single requests.',
    backoff_strategy: '`linear` for a site that recovers quickly.',
    backoff_factor: 'Raise it if the site needs longer to recover. 0 retries at once and is only for tests.',
    max_backoff_seconds: 'Raise it for outages of minutes, together with `item_timeout_seconds`.',
    max_retry_after_seconds: 'Lower it if a site asks for hours and you know better.',
  },
  timeouts: {
    connect_timeout_seconds: 'Rarely.',
    request_timeout_seconds:
      'If pages of the site take longer. A document may take as long as the item, unless it is silent for this long.',
    item_timeout_seconds: 'If an item makes many requests, downloads large documents or waits for long retries.',
  },
  circuit_breaker: {
    min_requests: 'Raise it if the first items of a list often fail; lower it to stop a hopeless job sooner.',
    failure_threshold_percentage:
      'Raise it if many failures are normal for the list. 1 stops only if everything fails.',
    consecutive_failures:
      'Raise it for lists in which failures come in runs, such as closed accounts next to each other.',
    on_trip:
      '`pause` together with `cooldown_seconds`: `trawl run` then waits and continues, while a failed job ends it with exit code 3.',
    cooldown_seconds: 'If the site blocks or breaks for a while and recovers: the job resumes without you.',
    max_wait_seconds: 'Raise it to wait for a county that is down for a whole night or weekend.',
    count_all_failures:
      'If every item of the list is known to exist. Without it, only a job in which nothing succeeds is stopped for them.',
  },
  results: {
    keep_html:
      'Turn it off if you only need the data and disk space is short. `trawl extract` then has nothing to read.',
    keep_failures:
      'Raise it to see more pages of each kind of failure. With `keep_html`, pages that `parse` could not read are kept for every item anyway, so that they can be extracted again.',
    screenshot:
      '`on_failure` while you write a scraper, or to see what a site shows when items fail. A picture takes 50 to 200 KB.',
    item_manifests: '`true` on S3 if a program waits for single items; `false` for fewer files.',
  },
  controls: {
    items: 'For every large job: one or two records that are known to exist. `{"input": {"apn": "101-01-001"}}`',
    every: 'Lower it if items are expensive: up to this many may be wasted before a broken search is noticed.',
    ignore: 'If the data have fields such as the time of the visit.',
  },
  budget: {
    max_requests: 'If the site counts requests, or a mistake in a list must not cost more than this.',
    max_bytes: 'If your connection, or the traffic of the site, is metered.',
    max_proxy_bytes: 'If your proxies include a fixed amount of traffic.',
    max_cost: 'For jobs through proxies that are billed. Their prices must be in the settings of the server.',
  },
  discovery: {
    max_depth: 'Lower it to 1 for a listing and its details; raise it to follow the links of a deep site.',
    max_items:
      'Raise it for a site that is known to be larger. It protects you from calendars and other endless links.',
  },
  browser: {
    isolation:
      '`page` if visitors must pass several pages first, or if every item would fetch the same large scripts: cookies and cached files of one item are there for the next.',
    block:
      '`[]` if the site does not work without them, or screenshots should have pictures. Add `trackers` to save time.',
    stealth: 'If the site refuses automated browsers.',
    device: '`"Pixel 7"` if the mobile version of the site is simpler.',
    locale: 'If numbers, dates or texts depend on it.',
    timezone: 'If dates depend on it.',
    trace: '`on_failure` to see every step of what went wrong. It slows pages down and takes some MB each.',
  },
  robots:
    'If you want to follow the rules that sites set for crawlers. Some counties disallow the very pages that you need.',
};

interface Field {
  readonly default?: unknown;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Field[];
  readonly items?: Field;
  readonly properties?: Readonly<Record<string, Field>>;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
}

/** The page with its tables as they should be; the text around them is written by hand. */
export function policyPage(page: string): string {
  const { properties = {} }: Field = z.toJSONSchema(policySchema, { io: 'input' }) as Field;
  return Object.entries(properties).reduce((text, [name, field]) => {
    const when = CHANGE_WHEN[name as keyof Policy];
    const rows = typeof when === 'string' ? [rowOf(name, field, when)] : rowsOf(field, when);
    return withTable(text, name, rows);
  }, page);
}

function rowsOf({ properties = {} }: Field, when: Readonly<Record<string, string>>): string[] {
  return Object.entries(properties).map(([name, field]) => rowOf(name, field, when[name] ?? ''));
}

function rowOf(name: string, field: Field, when: string): string {
  return `| \`${name}\` | \`${JSON.stringify(field.default)}\` | ${allowed(field)} | ${field.description} | ${when} |`;
}

/** The allowed values of a field, in words. */
function allowed(field: Field): string {
  if (typeof field.type === 'object') return field.type.map((type) => allowed({ ...field, type })).join(' or ');
  if (field.anyOf) return field.anyOf.map(allowed).join(' or ');
  if (field.enum) return field.enum.map((value) => `\`${value}\``).join(', ');
  switch (field.type) {
    case 'null':
      return '`null`';
    case 'boolean':
      return '`true`, `false`';
    case 'array':
      return `up to ${field.maxItems} of ${field.items ? allowed(field.items) : ''}`;
    case 'string':
      return 'a text';
    case 'object':
      return `an object: ${Object.keys(field.properties ?? {})
        .map((name) => `\`${name}\``)
        .join(', ')}`;
    default:
      return range(field);
  }
}

function range({ type, minimum, exclusiveMinimum, maximum = 0 }: Field): string {
  const least = exclusiveMinimum === undefined ? `${minimum} to` : `above ${exclusiveMinimum}, up to`;
  return `${type === 'integer' ? 'whole number, ' : ''}${least} ${maximum.toLocaleString('en')}`;
}

/** The table after the comment with the section's name. */
function withTable(page: string, section: string, rows: readonly string[]): string {
  const mark = `<!-- ${section} -->\n`;
  const start = page.indexOf(mark);
  if (start < 0) throw new Error(`policy.md has no ${mark}`);
  const end = page.indexOf('\n\n', start);
  const head = ['| field | default | allowed | what it does | when to change it |', '|---|---|---|---|---|'];
  return `${page.slice(0, start)}${mark}${[...head, ...rows].join('\n')}${page.slice(end)}`;
}

if (import.meta.main) writeFileSync(PAGE, policyPage(readFileSync(PAGE, 'utf8')));
