import type { Command } from 'commander';
import { withOwnHint } from '../client/command.ts';
import { collected } from '../jobs/options.ts';
import { wholeNumber } from '../options.ts';
import { checkRecordings } from './check.ts';
import { importFile } from './import.ts';
import { showRecording } from './show.ts';
import type { WatchOptions } from './watching.ts';

/** `trawl recordings …` */
export function addRecordingsCommands(program: Command): void {
  const recordings = program
    .command('recordings')
    .description('scrapers that are a list of recorded steps: record, import, check, show and run them')
    .addHelpText(
      'after',
      `
A recording is a file NAME.recording.json beside the other scrapers. Its id works wherever that of a scraper does.

Examples:
  $ trawl recordings record https://treasurer.example.gov/search --id my-county --parameterize
  $ trawl recordings import search.json --id my-county --parameterize
  $ trawl recordings check scrapers/my-county.recording.json
  $ trawl recordings run my-county --input apn=200-14-030`,
    );
  withOwnHint(recordings);

  withOwnHint(recordings.command('record'))
    .argument('<url>', 'where to begin')
    .description('open a browser, and record what you do in it until you close its window')
    .option('--id <id>', 'id of the recording (default: from the host)')
    .option('--parameterize', 'make placeholders of the values that you type')
    .option('--out <file>', 'where to write it (default: scrapers/ID.recording.json); - is the standard output')
    .option('--force', 'replace a file that exists')
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      `
Clicks, typing, choices, Enter, addresses, tabs, frames, dialogs and downloads are recorded, each element with several
selectors. Files that you choose are not, and passwords never are: a placeholder is written instead. Egress rules apply.

Exit codes: 0 written, 1 written but it cannot be used as it is, 2 bad usage or no display.

Example:
  $ trawl recordings record https://treasurer.example.gov/search --id my-county --parameterize`,
    )
    .action(async (url: string, options: object) => (await import('./record.ts')).recordRecording(url, options));

  withOwnHint(recordings.command('import'))
    .argument(
      '<file>',
      'an export of the Chrome DevTools Recorder, Selenium IDE or Playwright codegen, or a list of actions',
    )
    .description('make a recording of what another tool recorded, and say what became of each entry')
    .requiredOption('--id <id>', 'id of the recording: lower-case letters, digits and dashes')
    .option('--parameterize', 'make placeholders of the values that were typed')
    .option('--out <file>', 'where to write it (default: scrapers/ID.recording.json); - is the standard output')
    .option('--force', 'replace a file that exists')
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      `
Exit codes: 0 written, 1 written but some entries are lost, 2 bad usage or a file that cannot be imported.

Examples:
  $ trawl recordings import search.json --id my-county
  $ trawl recordings import search.side --id my-county --parameterize --out -`,
    )
    .action(importFile);

  withOwnHint(recordings.command('check'))
    .argument('<files...>', 'recordings')
    .description('check recordings without running them, and say which steps need a browser')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Exit codes: 0, or 1 if a recording cannot be used.

Example:
  $ trawl recordings check scrapers/my-county.recording.json`,
    )
    .action(checkRecordings);

  withOwnHint(recordings.command('run'))
    .argument('<recording>', 'a recording beside the scrapers, by its id, or a file NAME.recording.json')
    .description('carry a recording out for one input, here and now, and show what it does; nothing is stored')
    .option('--input <name=value>', 'a field of the input; may be repeated; name:=value takes JSON', collected)
    .option('--engine <engine>', "auto, browser or http instead of the recording's own")
    .option('--headed', 'show the window of the browser (--engine browser)')
    .option('--slow [ms]', 'pause before each step of the browser (500 ms)', wholeNumber)
    .option('--pause-on-failure', 'stay at a step that fails, and ask whether to repeat it (--engine browser)')
    .option('--open', 'write the last page to a file and open it in a browser')
    .option('--watch', 'run again whenever the recording is saved')
    .option('--json', 'print JSON; with --watch, one line per run')
    .addHelpText(
      'after',
      `
Exit codes: 0 there is data, 1 the item failed or the recording cannot be used, 2 bad usage, 130 interrupted.

Examples:
  $ trawl recordings run my-county --input apn=200-14-030 --headed --slow
  $ trawl recordings run scrapers/my-county.recording.json --input apn=200-14-030 --headed --pause-on-failure`,
    )
    .action(async (id: string, options: WatchOptions) => {
      const { readWatching } = await import('./watching.ts');
      const watching = readWatching(options);
      await (await import('../try/command.ts')).tryScraper(id, options, watching);
    });

  withOwnHint(recordings.command('show'))
    .argument('<file>', 'a recording')
    .description('show the steps of a recording as readable lines')
    .option('--json', 'print JSON: the recording with its defaults')
    .addHelpText(
      'after',
      `
Exit codes: 0, or 1 if it cannot be used.

Example:
  $ trawl recordings show scrapers/my-county.recording.json`,
    )
    .action(showRecording);
}
