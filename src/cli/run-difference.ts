import { jobPath } from '../contract/client/api-paths.ts';
import type { ComparisonAnswer } from '../contract/extraction-answers.ts';
import type { Client } from './client/command.ts';
import { fieldsText, untilCompared } from './comparing.ts';
import { formatCount, formatItems, printable } from './format.ts';

/** Shows the differences between a round of a list and the previous one. */
export function compareRounds(client: Client, jobId: string, before: string, goOn: string): Promise<ComparisonAnswer> {
  const address = { path: `${jobPath(jobId)}/compare`, query: { with: before } };
  return untilCompared<ComparisonAnswer>(client, address, goOn);
}

export function differenceText(difference: ComparisonAnswer): string {
  const { with: before, compared, changed, appeared, vanished, fields } = difference;
  const isSame = changed + appeared + vanished === 0;
  const counts = isSame
    ? `nothing differs in ${formatItems(compared)}`
    : `${formatCount(changed)} of ${formatItems(compared)} changed, ` +
      `${formatCount(appeared)} appeared, ${formatCount(vanished)} vanished`;
  return [
    `Compared with job ${printable(before)}: ${counts}.\n`,
    examplesText('Appeared', appeared, difference.appeared_examples),
    examplesText('Vanished', vanished, difference.vanished_examples),
    fieldsText(fields),
  ].join('');
}

function examplesText(what: string, count: number, ids: readonly string[]): string {
  if (count === 0) return '';
  const rest = count > ids.length ? ` and ${formatCount(count - ids.length)} more` : '';
  return `  ${what}: ${ids.map((id) => printable(id, 60)).join(', ')}${rest}\n`;
}
