import type { Command } from 'commander';
import { type Column, statusStyle, tableText } from '../client/table.ts';
import { EXIT } from '../exit-codes.ts';
import { formatCount } from '../format.ts';
import { wholeNumber } from '../options.ts';
import { countItems } from './run-text.ts';
import { withRuns } from './with-runs.ts';

interface ListRunsOptions {
  readonly domain?: string;
  readonly status?: string;
  readonly limit?: number;
  readonly json?: true;
}

const USUAL_LIMIT = 20;

export function addListRunsCommand(runs: Command): void {
  runs
    .command('list')
    .description('list runs of the ETL API, newest first')
    .option('--domain <domain>', 'only runs of this domain')
    .option('--status <status>', 'only runs with this status: pending, processing, completed, failed or finished')
    .option('--limit <n>', `maximum number of runs (default: ${USUAL_LIMIT})`, wholeNumber)
    .option('--json', 'one JSON array on stdout')
    .action(list);
}

async function list({ domain, status, limit = USUAL_LIMIT, json }: ListRunsOptions): Promise<void> {
  await withRuns({ ...(json && { json }) }, async ({ runs, out, note }) => {
    const found = await runs.list({ ...(domain && { domain }), ...(status && { status }), limit });
    const rows = found.map((run) => ({ run, items: countItems(run.items) }));
    if (json) {
      await out.json(
        rows.map(({ run: { _id, domain: of, status: is, startTime, endTime }, items }) => ({
          ...{ run_id: _id, domain: of, status: is ?? null, start_time: startTime, end_time: endTime, items },
        })),
      );
    } else if (rows.length === 0) note('No matching runs.');
    else {
      const cells = rows.map(({ run, items }) => [
        ...[run._id, run.domain, run.status ?? (run.endTime === null ? 'open' : 'ended')],
        ...[items.total, items.completed, items.failed, items.pending].map(formatCount),
        run.startTime.slice(0, 16).replace('T', ' '),
      ]);
      await out.write(tableText(COLUMNS, cells, process.stdout));
    }
    return EXIT.done;
  });
}

const COLUMNS: readonly Column[] = [
  // Never shortened: it is what the user types next.
  { name: 'RUN', max: 60 },
  { name: 'DOMAIN', isFlexible: true, max: 60 },
  { name: 'STATUS', style: statusStyle },
  { name: 'ITEMS', isNumber: true },
  { name: 'DONE', isNumber: true },
  { name: 'FAILED', isNumber: true, style: (cell) => (cell === '0' ? null : 'red') },
  { name: 'PENDING', isNumber: true },
  { name: 'STARTED' },
];
