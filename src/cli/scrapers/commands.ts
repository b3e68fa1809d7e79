import type { Command } from 'commander';
import { collected } from '../jobs/options.ts';
import { listScrapers } from './list.ts';
import { newScraper } from './new.ts';
import { addServerCommands } from './on-server.ts';
import { showScraper } from './show.ts';
import { testScrapers } from './test.ts';

const SERVER = 'ask a server, which also has the recordings that were stored there';
const URL = 'address of the API, for --server (default: TRAWL_URL or http://127.0.0.1:8080)';

/** `trawl scrapers …` */
export function addScrapersCommands(program: Command): void {
  const scrapers = program
    .command('scrapers')
    .description('list, show, create and test scrapers, and store recordings on a server')
    .addHelpText(
      'after',
      `
Scrapers are found in ./scrapers, or in the folders that TRAWL_SCRAPERS names, and among those that come with Trawl.
A server also has recordings that were stored there: add, remove, and list and show with --server.

Examples:
  $ trawl scrapers list
  $ trawl scrapers new my-county --host treasurer.example.gov
  $ trawl scrapers test my-county`,
    );

  scrapers
    .command('list')
    .description('list every scraper, and every scraper file that cannot be used')
    .option('--check', 'load every file, to find mistakes that its text does not show')
    .option('--server', SERVER)
    .option('--url <address>', URL)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Exit code: 0, or 1 if a scraper cannot be used.

Examples:
  $ trawl scrapers list
  $ trawl scrapers list --server
  $ TRAWL_SCRAPERS=/srv/counties trawl scrapers list --check --json`,
    )
    .action(listScrapers);

  scrapers
    .command('show')
    .argument('<id>', 'the scraper')
    .description('show a scraper: its hosts, its file, the schemas of its input and its data')
    .option('--server', SERVER)
    .option('--url <address>', URL)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Exit code: 0; 1 if it cannot be used, 2 if there is none.

Example:
  $ trawl scrapers show example-slow`,
    )
    .action(showScraper);

  scrapers
    .command('new')
    .argument('<id>', 'lower-case letters, digits and dashes: maricopa-az')
    .description('create a small working scraper, with a fixture and a test')
    .option('--folder <folder>', 'where to put it', 'scrapers')
    .option('--host <host>', 'the host of its site', 'example.gov')
    .option('--kind <kind>', 'http, browser or recording', 'http')
    .option('--browser', 'same as --kind browser: for a site that only works in a browser')
    .option('--recording', 'same as --kind recording: a list of steps instead of code')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
It never writes over a file that is there. To record your own steps in a browser, use trawl recordings record.

Example:
  $ trawl scrapers new my-county --folder scrapers/az --host treasurer.example.gov`,
    )
    .action(newScraper);

  addServerCommands(scrapers);

  scrapers
    .command('test')
    .argument('[ids...]', 'scraper ids (default: all that have a fixture)')
    .description('run scrapers on their recorded pages, without network access')
    .option(
      '--from <job item...>',
      'record what a job kept of an item as a case of the scraper, without asking the site',
    )
    .option('--record', 'run one scraper against its site, and record the result as a case of its fixture')
    .option('--input <name=value>', 'with --record: a field of the input; may be repeated; := takes JSON', collected)
    .option('--case <name>', 'with --record or --from: name of the case; an existing case of that name is replaced')
    .option('--expect-failure', 'with --record or --from: record only that the scraper fails, whatever the failure')
    .option('--url <address>', 'with --from: address of the API (default: TRAWL_URL or http://127.0.0.1:8080)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
A fixture is next to its scraper: county.ts, county.fixture/cases.json and pages. --record writes one; read it before
you keep it, because what the scraper got wrong is expected from then on. A scraper that fails as structure_changed,
unexpected or invalid_output is not recorded without --expect-failure. Tokens, session cookies and keys are masked.

--from takes the pages of a failure that a job kept (trawl jobs failures lists them), or of any other item whose pages
were kept, and plays them. The case expects what the scraper makes of them now: the failure or, once the scraper is
repaired and the command is run again, the data.

Exit code: 0 all is as expected; 1 something is not; 2 there is no such scraper, or it has no fixture.

Examples:
  $ trawl scrapers test
  $ trawl scrapers test my-county other-county
  $ trawl scrapers test my-county --record --input apn=100-20-300 --case 'a parcel'
  $ trawl scrapers test my-county --from parcels-2026 200-14-030`,
    )
    .action(testScrapers);
}
