import { PROXY_TYPES, type ProxyType } from './proxy-policy.ts';

/** What was sent and received, and how often the site refused. */
interface UsageCounts {
  readonly requests: number;
  /** On the wire: headers, bodies as they were sent, TLS, and requests to the proxy. */
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** Answers with the status 429. */
  readonly refused: number;
  /** Answers with the status 403. */
  readonly blocked: number;
}

/** The same while it is being counted. */
export type Counting = { -readonly [Name in keyof UsageCounts]: number };

export interface UsageRow extends UsageCounts {
  /** `host` or `host:port` as in the URL, or OTHER_HOSTS. */
  readonly host: string;
  readonly proxy: ProxyType;
}

/** By host and kind of proxy. The sum of the rows is all that was used, however many hosts there were. */
export type Usage = readonly UsageRow[];

export const NO_USAGE: Usage = [];

/** Stands for all hosts without their own row. */
export const OTHER_HOSTS = 'other';

/** Rows per host: a job that visits a million hosts must still be readable at once. */
export const MAX_USAGE_ROWS = 12;

/** An attempt has no more rows than a job, and one for the other hosts of each kind of proxy. */
export const MAX_ATTEMPT_USAGE_ROWS = MAX_USAGE_ROWS + PROXY_TYPES.length;

export const MAX_USAGE_HOST_LENGTH = 100;

/** Adds the usage of one more attempt. Returns the same object if that is nothing. */
export function addUsage(usage: Usage, more: Usage | undefined): Usage {
  if (more === undefined || more.length === 0) return usage;
  const sum = [...usage];
  for (const row of more) {
    const at = placeOf(sum, row);
    const before = sum[at];
    if (before !== undefined) sum[at] = { ...before, ...plus(before, row) };
    else sum.push(hasRoom(sum, row.host) ? row : { ...row, host: OTHER_HOSTS });
  }
  return sum;
}

/**
 * The index of the row for that host and proxy, existing or new: the host's own, or that of all others if there is no
 * room.
 */
function placeOf(rows: Usage, { host, proxy }: Pick<UsageRow, 'host' | 'proxy'>): number {
  const own = rows.findIndex((row) => row.host === host && row.proxy === proxy);
  if (own >= 0) return own;
  const shared = hasRoom(rows, host) ? -1 : rows.findIndex((row) => row.host === OTHER_HOSTS && row.proxy === proxy);
  return shared >= 0 ? shared : rows.length;
}

function hasRoom(rows: Usage, host: string): boolean {
  return host === OTHER_HOSTS || !isFullUsage(rows);
}

/** Whether no further host gets its own row. */
export function isFullUsage(rows: Usage): boolean {
  let own = 0;
  for (const row of rows) if (row.host !== OTHER_HOSTS) own += 1;
  return own >= MAX_USAGE_ROWS;
}

/** What to add, row by row, to usage that already has these rows. */
export function fitUsage(usage: Usage, more: Usage): Usage {
  const places = usage.map((row) => ({ ...row, ...NOTHING }));
  return addUsage(places, more).filter((row) => row.requests + row.bytesUp + row.bytesDown > 0);
}

function plus(one: UsageCounts, other: UsageCounts): UsageCounts {
  return {
    requests: one.requests + other.requests,
    bytesUp: one.bytesUp + other.bytesUp,
    bytesDown: one.bytesDown + other.bytesDown,
    refused: one.refused + other.refused,
    blocked: one.blocked + other.blocked,
  };
}

const NOTHING: UsageCounts = { requests: 0, bytesUp: 0, bytesDown: 0, refused: 0, blocked: 0 };

export interface UsageTotals extends UsageCounts {
  /** Sent and received, through proxies of any kind. */
  readonly proxyBytes: number;
}

export function totalUsage(usage: Usage): UsageTotals {
  let sum = NOTHING;
  let proxyBytes = 0;
  for (const row of usage) {
    sum = plus(sum, row);
    if (row.proxy !== 'none') proxyBytes += row.bytesUp + row.bytesDown;
  }
  return { ...sum, proxyBytes };
}

/** Usage of one attempt, as its item stores it: requests, bytes up, bytes down. */
export type AttemptUsage = readonly [requests: number, bytesUp: number, bytesDown: number];

/** Absent for an attempt that used nothing. */
export function attemptUsage(usage: Usage | undefined): { readonly usage?: AttemptUsage } {
  if (usage === undefined || usage.length === 0) return {};
  const { requests, bytesUp, bytesDown } = totalUsage(usage);
  return { usage: [requests, bytesUp, bytesDown] };
}
