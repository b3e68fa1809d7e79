import type { ChangesAnswer } from '../contract/extraction-answers.ts';
import { NO_COUNTS } from '../domain/counts.ts';
import type { Client } from './client/command.ts';
import { CommandFailed } from './client/command-failure.ts';
import { type Column, tableText } from './client/table.ts';
import { EXIT } from './exit-codes.ts';
import { formatCount, printable } from './format.ts';
import { type Progress, RateWindow } from './progress.ts';

/** Delays between requests to the server; they double. */
export const POLL = { firstMs: 100, longestMs: 2000 } as const;
const STANDSTILL_MS = 5 * 60_000;

interface Comparing {
  readonly state: 'waiting' | 'comparing' | 'complete';
  readonly total: number;
}

/** Polls a comparison with growing delays until it is complete. `examined` is its progress. */
export async function untilCompared<Answer extends Comparing & ({ compared: number } | { examined: number })>(
  { api, show }: Client,
  address: { readonly path: string; readonly query?: Readonly<Record<string, string>> },
  goOn: string,
): Promise<Answer> {
  const ask = () => api.get<Answer>(address.path, address.query);
  let answer = await ask();
  const rate = new RateWindow();
  const look = async (): Promise<Progress> => {
    rate.add(api.clock.elapsed(), examined(answer));
    // `cancelled` is counted in the progress line but not mentioned by name.
    const counts = { ...NO_COUNTS, total: answer.total, cancelled: examined(answer) };
    return { counts, failures: new Map(), perSecond: rate.perSecond(), eta: null, note: 'comparing', pace: null };
  };
  const display = show(look);
  try {
    let delayMs: number = POLL.firstMs;
    let movedAt = api.clock.elapsed();
    while (answer.state !== 'complete') {
      await api.clock.sleep(delayMs, api.signal);
      if (api.signal.aborted) throw new CommandFailed(`interrupted. To continue:\n  ${goOn}`, EXIT.interrupted);
      delayMs = Math.min(delayMs * 2, POLL.longestMs);
      const before = examined(answer);
      answer = await ask();
      display.poke();
      if (examined(answer) !== before) movedAt = api.clock.elapsed();
      if (api.clock.elapsed() - movedAt > STANDSTILL_MS) {
        throw new CommandFailed('the comparison makes no progress: see the server log', EXIT.failed);
      }
    }
    return answer;
  } finally {
    await display.stop();
  }
}

function examined(answer: { readonly compared: number } | { readonly examined: number }): number {
  return 'examined' in answer ? answer.examined : answer.compared;
}

const COLUMNS: readonly Column[] = [
  { name: 'FIELD', isFlexible: true, max: 60 },
  { name: 'CHANGED', isNumber: true },
  { name: 'ADDED', isNumber: true },
  { name: 'REMOVED', isNumber: true },
  { name: 'EXAMPLE', isFlexible: true },
];

/** A table after an empty line; nothing if no field differs. */
export function fieldsText(fields: ChangesAnswer['fields']): string {
  const rows = fields.map(({ field, items, added, removed, examples: [example] }) => [
    field,
    ...[items, added, removed].map(formatCount),
    example === undefined ? '' : `${example.item_id}: ${valueText(example.before)} → ${valueText(example.after)}`,
  ]);
  return rows.length === 0 ? '' : `\n${tableText(COLUMNS, rows)}`;
}

/** Short enough for two values in a line. */
function valueText(value: unknown): string {
  return value === undefined || value === null ? 'nothing' : printable(JSON.stringify(value), 60);
}
