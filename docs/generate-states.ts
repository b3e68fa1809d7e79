import { writeFileSync } from 'node:fs';
import { FAILURES, isRetryable } from '../src/domain/failure.ts';
import { ITEM_EVENTS, NEXT_ITEM_STATUS } from '../src/domain/item.ts';
import { NEXT_JOB_STATUS } from '../src/domain/job-steps.ts';

/** Writes states.md from the tables that the code runs on. A test fails when the page is out of date. */

export const COMMAND = 'node docs/generate-states.ts';

export const PAGE = new URL('states.md', import.meta.url);

type Table = Readonly<Record<string, Readonly<Record<string, string>>>>;

export function statesPage(): string {
  return `# States and failures

This page is generated from the tables in \`src/domain\` by \`${COMMAND}\`; change them, not this page.

## Items

\`NEXT_ITEM_STATUS\` in \`src/domain/item.ts\`. Ledgers refuse or ignore every event that is not in the table: a status without a row is
permanent. Items of a batch are \`pending\` until it is their turn.

${diagram(NEXT_ITEM_STATUS)}

${transitions(NEXT_ITEM_STATUS, ITEM_EVENTS)}

## Jobs

\`NEXT_JOB_STATUS\` in \`src/domain/job-steps.ts\`. Steps that do not change the status are in the table, not in the diagram.

${diagram(NEXT_JOB_STATUS)}

${transitions(NEXT_JOB_STATUS)}

## Failures

\`FAILURES\` in \`src/domain/failure.ts\`. A failure that counts for the breaker is held against the site; a refusal halves the
concurrency of a job with \`adaptive\` throttling.

${failures()}
`;
}

function diagram(table: Table): string {
  const arrows = Object.entries(table).flatMap(([from, row]) =>
    Object.entries(row).flatMap(([event, to]) => (from === to ? [] : [`  ${from} --> ${to}: ${event}`])),
  );
  return ['```mermaid', 'stateDiagram-v2', '  [*] --> pending', ...arrows, '```'].join('\n');
}

function transitions(table: Table, meaning: Readonly<Record<string, string>> | null = null): string {
  const rows = Object.entries(table).flatMap(([from, row]) =>
    Object.entries(row).map(([event, to]) => [code(from), event, code(to), ...(meaning ? [meaning[event] ?? ''] : [])]),
  );
  return markdownTable(['from', 'event', 'to', ...(meaning ? ['when'] : [])], rows);
}

function failures(): string {
  const rows = Object.entries(FAILURES).map(([type, rule]) => [
    code(type),
    isRetryable(type as keyof typeof FAILURES) ? `yes, ${rule.retry}` : rule.retry,
    rule.breaker ? 'yes' : 'no',
    rule.refusal ? 'yes' : 'no',
    rule.blame,
    rule.when,
  ]);
  return markdownTable(['type', 'retried', 'breaker', 'refusal', 'blame', 'when'], rows);
}

/** Padded as the formatter would do it. */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[], fill: string) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  const rule = line(
    head.map(() => ''),
    '-',
  );
  return [line(head, ' '), rule, ...rows.map((row) => line(row, ' '))].join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}

if (import.meta.main) writeFileSync(PAGE, statesPage());
