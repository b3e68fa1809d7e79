import type { Command } from 'commander';
import { withOwnHint } from '../client/command.ts';
import { addListRunsCommand } from './list-runs.ts';
import { addShowRunCommands } from './show-run.ts';
import { addStartRunCommands } from './start-run.ts';

/** `trawl runs …` */
export function addRunsCommands(program: Command): void {
  const runs = program
    .command('runs')
    .description('carry out scrape runs that are kept in an ETL API')
    .addHelpText(
      'after',
      `
A run is a domain and its URLs, each done, failed, invalid or pending. ETL_API_ENDPOINT is the address of the ETL API, ETL_API_KEY
its key; trawl serve is such a server, too. start and retry scrape here and now, with workers of their own, and report each URL to
the run; the same command continues where it stopped.

Examples:
  $ trawl runs start county.gov --urls urls.txt --sessions 3
  $ trawl runs start county.gov                    # the active run, or where it stopped
  $ trawl runs list --domain county.gov
  $ trawl runs show 66f1c0ffee
  $ trawl runs retry 66f1c0ffee                    # what has failed`,
    );
  withOwnHint(runs);
  addStartRunCommands(runs);
  addListRunsCommand(runs);
  addShowRunCommands(runs);
}
