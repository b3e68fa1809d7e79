import { basename } from 'node:path';
import type { Command } from 'commander';
import { ConfigError, loadConfig } from '../../config.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { untilToldToStop } from '../../main/stop-signal.ts';
import { openTrials, type TrialEvent, type TrialInput, type TrialReport, type Trials } from '../../main/trial.ts';
import type { Watching } from '../../main/watched-recording.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { collected } from '../jobs/options.ts';
import { watchingSettings } from '../options.ts';
import { tellUnknown } from '../scrapers/unknown.ts';
import { PageFile } from './show-page.ts';
import { type InputOptions, readTrialInput } from './trial-input.ts';
import { eventText, reportJson, reportText } from './trial-text.ts';
import { FileWatch } from './watch-files.ts';

interface TryOptions extends InputOptions {
  readonly open?: true;
  readonly watch?: true;
  readonly json?: true;
  readonly headed?: true;
  readonly slow?: number | true;
}

export function addTryCommand(program: Command): void {
  program
    .command('try')
    .description('run a scraper on one input, here and now, and show what it does; nothing is stored')
    .argument('<scraper>', 'scraper id (see trawl scrapers list)')
    .option('--input <name=value>', 'a field of the input; may be repeated; name:=value takes JSON', collected)
    .option('--url <address>', 'the field url of the input')
    .option(
      '--from <job-and-item...>',
      'the input of an item: a job of the service, or the folder of a run, and its id',
    )
    .option('--case <name>', 'a case of the fixture: its input and its recorded pages, without network access')
    .option('--open', 'write the last page to a file and open it in a browser')
    .option('--watch', 'run again whenever the scraper, or a local file that it imports, is saved')
    .option('--json', 'print JSON; with --watch, one line per run')
    .addHelpText('after', HELP)
    .action((id: string, options: TryOptions) => tryScraper(id, options));
}

const HELP = `
It shows each request with its status, time and size, waits and retries as they happen, what each selector matched, and
the data or the failure. Egress rules apply as they do for workers.

Exit codes: 0 there is data, 1 the item failed or the scraper cannot be used, 2 bad usage, 130 interrupted.

Examples:
  $ trawl try my-county --input apn=200-14-030 --watch
  $ trawl try my-county --from parcels-2026 200-14-030 --open
  $ trawl try my-county --from .trawl/run/my-county 200-14-030
  $ trawl try my-county --case 'a parcel' --json`;

/** The options decide the exit code, which it sets. `watching` is for recordings. */
export async function tryScraper(id: string, options: TryOptions, watching: Watching | null = null): Promise<void> {
  process.on('unhandledRejection', (error) => {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`unhandled promise rejection in the scraper: ${what}\n`);
  });
  const asked = await readTrialInput(options);
  if (asked === null) return;
  const opened = await openTrials(loadConfig(watchingSettings(options)), id, watching).catch(unusable);
  if (opened === null) return;
  const { trials, ids } = opened;
  if (trials === null) {
    tellUnknown(id, ids);
    return;
  }
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const trial = new Trial(trials, asked, options);
  process.exitCode = options.watch ? await repeat(trials, trial, stop.signal) : await trial.run(stop.signal);
}

/** Loading the file again reports the error itself. */
function unusable(error: unknown): null {
  if (error instanceof ConfigError) throw error;
  process.stderr.write(`trawl: ${errorMessage(error)}\n`);
  process.exitCode = EXIT.someItemsFailed;
  return null;
}

class Trial {
  readonly #trials: Trials;
  readonly #asked: TrialInput;
  readonly #options: TryOptions;
  readonly #pages = new PageFile();

  constructor(trials: Trials, asked: TrialInput, options: TryOptions) {
    this.#trials = trials;
    this.#asked = asked;
    this.#options = options;
  }

  /** Runs the scraper once, prints what it does and returns the exit code. */
  async run(signal: AbortSignal): Promise<number> {
    const onEvent = (event: TrialEvent) => {
      if (!this.#options.json) process.stdout.write(`${eventText(event)}\n`);
    };
    const report = await this.#trials.run(this.#asked, onEvent, signal);
    if (report === null) return EXIT.interrupted;
    const page = await this.#writePage(report);
    if (this.#options.json) {
      const indent = this.#options.watch ? undefined : 2;
      process.stdout.write(`${JSON.stringify(reportJson(report, page), null, indent)}\n`);
    } else {
      process.stdout.write(`${reportText(report)}\n`);
      if (this.#options.open) process.stdout.write(`${page === null ? 'no page was received' : `page: ${page}`}\n`);
    }
    if (page !== null) await this.#pages.open();
    return report.outcome.kind === 'failed' ? EXIT.someItemsFailed : EXIT.done;
  }

  async #writePage({ page }: TrialReport): Promise<string | null> {
    return this.#options.open && page !== null ? await this.#pages.write(page.text) : null;
  }
}

/** Editors write a file in several steps. */
const SETTLED_MS = 10;

/** Repeats until stopped. A trial still running when a file is saved is aborted: it runs old code. */
async function repeat(trials: Trials, trial: Trial, signal: AbortSignal): Promise<number> {
  let saved = Promise.withResolvers<void>();
  const files = new FileWatch(() => saved.resolve());
  signal.addEventListener('abort', () => saved.resolve(), { once: true });
  try {
    while (!signal.aborted) {
      files.follow(trials.files());
      saved = Promise.withResolvers<void>();
      const cut = new AbortController();
      const running = runOnce(trial, cut.signal).then(() => {
        // The trial may have imported files that were not watched before, and one may have been saved since.
        files.follow(trials.files());
        if (trials.hasChanged()) saved.resolve();
      });
      await untilChanged();
      cut.abort();
      await running;
      const [file = ''] = trials.files();
      if (!signal.aborted) process.stderr.write(`\n${printable(basename(file))} was saved\n`);
    }
  } finally {
    files.close();
  }
  return EXIT.interrupted;

  async function untilChanged(): Promise<void> {
    for (;;) {
      await saved.promise;
      if (signal.aborted) return;
      saved = Promise.withResolvers<void>();
      await trials.clock.sleep(SETTLED_MS, signal);
      if (signal.aborted || trials.hasChanged()) return;
    }
  }
}

/** The author corrects mistakes, including in the file itself, so nothing ends the watching. */
async function runOnce(trial: Trial, signal: AbortSignal): Promise<void> {
  try {
    await trial.run(signal);
  } catch (error) {
    process.stderr.write(`trawl: ${errorMessage(error)}\n`);
  }
}
