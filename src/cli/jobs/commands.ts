import type { Command } from 'commander';
import { withOwnHint } from '../client/command.ts';
import { addCreateCommand } from './create.ts';
import { addDownloadCommand } from './download.ts';
import { addExportCommand } from './export.ts';
import { addFailuresCommand } from './failures.ts';
import { addItemsCommand } from './items.ts';
import { addListCommand } from './list.ts';
import { addPlanCommand } from './plan.ts';
import { addResultsCommand } from './results.ts';
import { addRetryCommand } from './retry.ts';
import { addStatusCommand, addWatchCommand } from './status.ts';
import { addSteerCommands } from './steer.ts';

/** `trawl jobs …` */
export function addJobsCommands(program: Command): void {
  const jobs = program
    .command('jobs')
    .description('create, watch and control jobs on a server, and get their results')
    .addHelpText(
      'after',
      `
These commands call the API of trawl serve. TRAWL_URL is its address (default: http://127.0.0.1:8080),
TRAWL_API_KEY the key.

Examples:
  $ trawl jobs plan maricopa-az --items parcels.csv
  $ trawl jobs create maricopa-az --items parcels.csv --job-id parcels-2026 --watch
  $ trawl jobs status parcels-2026
  $ trawl jobs retry parcels-2026 --error-type blocked
  $ trawl jobs export parcels-2026 --out parcels.csv`,
    );
  withOwnHint(jobs);
  addPlanCommand(jobs);
  addCreateCommand(jobs);
  addListCommand(jobs);
  addStatusCommand(jobs);
  addWatchCommand(jobs);
  addSteerCommands(jobs);
  addRetryCommand(jobs);
  addItemsCommand(jobs);
  addFailuresCommand(jobs);
  addResultsCommand(jobs);
  addExportCommand(jobs);
  addDownloadCommand(jobs);
}
