import type { Command } from 'commander';
import { itemPath, jobPath } from '../../contract/client/api-paths.ts';
import type { ItemAnswer, ItemDetailAnswer, ItemPageAnswer } from '../../contract/item-answers.ts';
import { artifactLabel } from '../../domain/artifact.ts';
import { type ClientOptions, showAnswer, talkToApi, withClientOptions } from '../client/command.ts';
import { type ListOptions, showList, withListOptions } from '../client/show-list.ts';
import { type Column, coloured, statusStyle, tableText } from '../client/table.ts';
import { formatBytes, formatCount, formatItems, formatTook, printable } from '../format.ts';
import { command } from './job-text.ts';

interface ItemsOptions extends ClientOptions, ListOptions {
  readonly status?: string;
  readonly errorType?: string;
}

export function addItemsCommand(jobs: Command): void {
  withListOptions(
    withClientOptions(
      jobs
        .command('items')
        .description('list the items of a job, or show one item with its attempts')
        .argument('<job>', 'job id')
        .argument('[item]', 'item id')
        .option(
          '--status <status>',
          'only items that are pending, queued, in_progress, success, failed, skipped or cancelled',
        )
        .option('--error-type <type>', 'only items that failed with this type: blocked, timeout …'),
    ),
  )
    .addHelpText(
      'after',
      `
Examples:
  $ trawl jobs items parcels-2026 --status failed --error-type blocked
  $ trawl jobs items parcels-2026 --status failed --all --json > failed.jsonl
  $ trawl jobs items parcels-2026 200-14-030`,
    )
    .action(items);
}

async function items(jobId: string, itemId: string | undefined, options: ItemsOptions): Promise<void> {
  if (itemId !== undefined) {
    await showAnswer(options, ({ api }) => api.get<ItemDetailAnswer>(itemPath(jobId, itemId)), itemText);
    return;
  }
  await talkToApi(options, (client) =>
    showList<ItemPageAnswer, ItemAnswer>(client, options, {
      path: `${jobPath(jobId)}/items`,
      query: { status: options.status, error_type: options.errorType },
      entries: (page) => page.items,
      pageSize: 1000,
      columns: COLUMNS,
      row: rowOf,
      nothing: 'No matching items.',
    }),
  );
}

const COLUMNS: readonly Column[] = [
  { name: 'ITEM', max: 60 },
  { name: 'STATUS', style: statusStyle },
  { name: 'TRIES', isNumber: true },
  { name: 'TOOK', isNumber: true },
  { name: 'ERROR', style: () => 'red' },
  { name: 'MESSAGE', isFlexible: true },
];

function rowOf({ item_id, status, tries, duration_ms, error }: ItemAnswer): string[] {
  const took = duration_ms === null ? '' : formatTook(duration_ms);
  return [item_id, status, formatCount(tries), took, error?.type ?? '', error?.message ?? ''];
}

function itemText(item: ItemDetailAnswer): string {
  const { history, artifacts, error } = item;
  const style = statusStyle(item.status);
  const status = style === null ? printable(item.status) : coloured(style, printable(item.status));
  const lines = [
    `Item ${printable(item.item_id)} of ${printable(item.job_id)}: ${status}`,
    `  input     ${printable(JSON.stringify(item.input), 2000)}`,
    `  scraper   ${printable(item.scraper_id)} ${printable(item.scraper_version)}`,
    `  delivered ${formatItems(item.deliveries, 'time')}; tries in the last attempt: ${formatCount(item.tries)}`,
  ];
  if (error !== null) {
    lines.push(`  error     ${printable(error.type)}: ${printable(error.message, 1000)}`);
    if (error.cause !== null) lines.push(`  cause     ${printable(error.cause, 1000)}`);
  }
  const attempts = tableText(
    ATTEMPT_COLUMNS,
    history.map(({ attempt, tries, started_at, duration_ms, status: how, error: why }) => [
      ...[formatCount(attempt), started_at, formatTook(duration_ms), formatCount(tries), how],
      why === null ? '' : `${why.type}: ${why.message}`,
    ]),
  );
  const failedTries = tableText(
    TRY_COLUMNS,
    history.flatMap(({ attempt, failed_tries }) =>
      failed_tries.map(({ try: number, failed_at, wait_ms, error_type, message }) => [
        ...[formatCount(attempt), formatCount(number), failed_at, wait_ms === null ? 'none' : formatTook(wait_ms)],
        `${error_type}: ${message}`,
      ]),
    ),
  );
  const hasFailedTries = history.some(({ failed_tries }) => failed_tries.length > 0);
  const kept = tableText(
    ARTIFACT_COLUMNS,
    artifacts.map((artifact) => {
      const { size, content_type, sha256 } = artifact;
      return [labelOf(artifact), formatBytes(size), content_type, sha256];
    }),
  );
  const [first] = artifacts;
  return [
    ...lines,
    ...(history.length === 0 ? [] : ['', attempts.trimEnd()]),
    ...(hasFailedTries ? ['', failedTries.trimEnd()] : []),
    ...(first === undefined
      ? []
      : [
          '',
          kept.trimEnd(),
          '',
          `  ${command(['jobs', 'download', item.job_id, item.item_id, '--artifact', labelOf(first)])}`,
        ]),
    '',
  ].join('\n');
}

function labelOf({ kind, name }: ItemAnswer['artifacts'][number]): string {
  return artifactLabel({ kind, ...(name === undefined ? {} : { name }) });
}

const ATTEMPT_COLUMNS: readonly Column[] = [
  { name: 'ATTEMPT', isNumber: true },
  { name: 'STARTED' },
  { name: 'TOOK', isNumber: true },
  { name: 'TRIES', isNumber: true },
  { name: 'STATUS', style: statusStyle },
  { name: 'ERROR', isFlexible: true },
];

const TRY_COLUMNS: readonly Column[] = [
  { name: 'ATTEMPT', isNumber: true },
  { name: 'TRY', isNumber: true },
  { name: 'FAILED' },
  { name: 'WAIT', isNumber: true },
  { name: 'ERROR', isFlexible: true },
];

const ARTIFACT_COLUMNS: readonly Column[] = [
  { name: 'ARTIFACT' },
  { name: 'SIZE', isNumber: true },
  { name: 'TYPE', isFlexible: true },
  { name: 'SHA-256', isFlexible: true },
];
