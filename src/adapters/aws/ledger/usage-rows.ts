import { hash } from 'node:crypto';
import type { ProxyType } from '../../../domain/proxy-policy.ts';
import { NO_USAGE, type Usage, type UsageRow } from '../../../domain/usage.ts';
import { countOf, type Row, text } from '../dynamo/attributes.ts';

/**
 * What a job used, as attributes of its hot row: a name for each host and kind of proxy, and numbers that are only added to.
 * So a settle costs no other row. Most jobs visit one or two hosts, and the row stays below a kilobyte.
 */
const COUNTS = {
  r: 'requests',
  u: 'bytesUp',
  d: 'bytesDown',
  t: 'refused',
  f: 'blocked',
} as const satisfies Record<string, keyof UsageRow>;
const LETTERS = Object.keys(COUNTS) as (keyof typeof COUNTS)[];

/** Attributes of names begin so. */
const NAME = 'n_';

/** Short, because a write costs what the row weighs; no two of a job's few places are likely to share one. */
function placeId({ proxy, host }: Pick<UsageRow, 'proxy' | 'host'>): string {
  return hash('sha256', `${proxy} ${host}`).slice(0, 6);
}

/** Values to set and to add, by attribute. */
export function usageChange(usage: Usage): { readonly set: Row; readonly add: Readonly<Record<string, number>> } {
  const set: Record<string, Row[string]> = {};
  const add: Record<string, number> = {};
  for (const row of usage) {
    const id = placeId(row);
    set[`${NAME}${id}`] = text(`${row.proxy} ${row.host}`);
    for (const letter of LETTERS) {
      if (row[COUNTS[letter]] > 0) add[`${letter}_${id}`] = row[COUNTS[letter]];
    }
  }
  return { set, add };
}

export function usageOfRow(hot: Row): Usage {
  const usage: UsageRow[] = [];
  for (const [attribute, value] of Object.entries(hot)) {
    if (!attribute.startsWith(NAME)) continue;
    const [proxy = '', host = ''] = (value.S ?? '').split(' ');
    const id = attribute.slice(NAME.length);
    usage.push({
      host,
      proxy: proxy as ProxyType,
      requests: countOf(hot, `r_${id}`),
      bytesUp: countOf(hot, `u_${id}`),
      bytesDown: countOf(hot, `d_${id}`),
      refused: countOf(hot, `t_${id}`),
      blocked: countOf(hot, `f_${id}`),
    });
  }
  return usage.length === 0 ? NO_USAGE : usage;
}
