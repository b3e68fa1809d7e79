import type { ComplianceAnswer, HostComplianceAnswer } from '../../contract/compliance-answer.ts';
import { formatCount, formatItems, formatPercent, formatRate, printable } from '../format.ts';

/** Leaves room on the screen for the rest of the status. */
const MAX_HOSTS = 10;

/** One line per host; those that exceeded a limit are marked and come first. Empty for a job that contacted no host. */
export function complianceLines({ hosts, omitted_hosts }: ComplianceAnswer): string[] {
  if (hosts.length === 0) return [];
  const sorted = hosts.toSorted((a, b) => Number(b.exceeded.length > 0) - Number(a.exceeded.length > 0));
  const rest = Math.max(0, sorted.length - MAX_HOSTS) + omitted_hosts;
  return [
    '',
    'Hosts:',
    ...sorted.slice(0, MAX_HOSTS).map(hostLine),
    ...(rest > 0 ? [`  and ${formatItems(rest, 'other host')}`] : []),
  ];
}

function hostLine(host: HostComplianceAnswer): string {
  const { concurrency, requests_per_second: rate, gap_seconds: gap, retry_after: asked, exceeded } = host;
  const facts = [
    formatItems(host.requests, 'request'),
    withLimit(`up to ${formatCount(concurrency.highest)} at once`, concurrency.limit),
    withLimit(
      `${formatRate(rate.highest_over_ten_seconds)} over ten seconds`,
      rate.limit === null ? null : formatRate(rate.limit),
    ),
    ...(gap.smallest === null ? [] : [withLimit(`${gap.smallest} s apart or more`, gap.limit && `${gap.limit} s`)]),
    ...(refused(host, 429) + refused(host, 403) === 0
      ? []
      : [`${formatPercent(refused(host, 429), 1)} answered 429, ${formatPercent(refused(host, 403), 1)} 403`]),
    ...(asked.honoured ? [] : [`${formatItems(asked.requests_during_pause, 'request')} while it asked us to wait`]),
  ];
  const mark = exceeded.length === 0 ? '' : `; EXCEEDED: ${exceeded.map((name) => EXCESS[name]).join(', ')}`;
  return `  ${printable(host.host, 80)}: ${facts.join(', ')}${mark}`;
}

function refused({ refusals }: HostComplianceAnswer, status: 429 | 403): number {
  return refusals?.[`share_${status}`] ?? 0;
}

const EXCESS = {
  concurrency: 'concurrent requests',
  rate: 'requests per second',
  gap: 'minimum delay',
  pause: 'Retry-After',
} as const satisfies Record<HostComplianceAnswer['exceeded'][number], string>;

function withLimit(fact: string, limit: number | string | null): string {
  return limit === null ? fact : `${fact} (limit ${limit})`;
}
