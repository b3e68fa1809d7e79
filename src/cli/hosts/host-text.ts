import type { HostAnswer } from '../../contract/service-answers.ts';
import { printable } from '../format.ts';

/** One line about the pause of a host, and one about its settings if it has any. */
export function hostText(host: HostAnswer): string {
  const limits = limitsText(host);
  const note = host.settings?.note ?? null;
  return [
    pauseLine(host),
    ...(host.settings === null ? [] : [`Limits: ${limits === '' ? 'those of the configuration' : limits}.`]),
    // While an operator's pause is in force, its reason is the note.
    ...(note === null || host.paused_by === 'operator' ? [] : [`Note: ${printable(note)}`]),
  ].join('\n');
}

function pauseLine({ host, paused_until, reason }: HostAnswer): string {
  if (paused_until === null) return `${printable(host)} is not paused.`;
  return `${printable(host)} is paused until ${printable(paused_until)}: ${printable(reason ?? '')}`;
}

/** `2 requests/s, 4 at once, 0.5 s apart`; empty for none. */
export function limitsText({ settings }: Pick<HostAnswer, 'settings'>): string {
  if (settings === null) return '';
  const { requests_per_second: rate, max_concurrent_requests: most, min_delay_seconds: delay } = settings;
  return [
    ...(rate === null ? [] : [`${rate} requests/s`]),
    ...(most === null ? [] : [`${most} at once`]),
    ...(delay === null ? [] : [`${delay} s apart`]),
  ].join(', ');
}
