import { buffer } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { ConfigError, EMBEDDED, LOCAL_RESULTS, loadConfig } from '../../config.ts';
import { urlFormatOf } from '../../contract/bulk-request.ts';
import { PROVIDERS } from '../../contract/run-requests.ts';
import { DEFAULT_ITEMS_PER_SESSION, DEFAULT_SESSIONS, DEFAULT_STRATEGY, STRATEGIES } from '../../domain/run-options.ts';
import { systemClock } from '../../main/client.ts';
import { EtlTrouble, openEtlRuns, readUrlFile, scraperForRun } from '../../main/etl-runs.ts';
import { alreadyCarriedOut, configForRun } from '../../main/run-config.ts';
import { untilToldToStop } from '../../main/stop-signal.ts';
import { urlFormatOfBytes, urlList } from '../bulk/url-list.ts';
import { endCommand } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import { openTerminal } from '../client/terminal.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { policyGiven } from '../jobs/policy-option.ts';
import { wholeNumber } from '../options.ts';
import { carryOut } from './carry-out.ts';

interface CarryOptions {
  readonly scraper?: string;
  readonly sessions?: number;
  readonly provider?: (typeof PROVIDERS)[number];
  readonly strategy?: (typeof STRATEGIES)[number];
  readonly maxItemsPerSession?: number;
  readonly policy?: string;
  readonly json?: true;
}

interface StartOptions extends CarryOptions {
  readonly urls?: string;
}

interface RetryOptions extends CarryOptions {
  readonly invalid?: true;
}

export function addStartRunCommands(runs: Command): void {
  withCarryOptions(
    runs
      .command('start')
      .description('carry out the active run of a domain, or a new one; the same command continues where it stopped')
      .argument('<domain>', 'domain of the run')
      .option('--urls <file>', 'URLs of a new run: lines, CSV with a column url, JSON or JSONL; - for stdin'),
  ).action(start);
  withCarryOptions(
    runs
      .command('retry')
      .description('scrape again what has failed in a run, even if it has ended')
      .argument('<run>', 'id of the run')
      .option('--invalid', 'invalid items, too'),
  ).action(retry);
}

function withCarryOptions(command: Command): Command {
  return command
    .option('--scraper <id>', 'scraper (default: the one that has the domain among its hosts)')
    .option('--sessions <n>', `groups of URLs at the same time, each with a browser (${DEFAULT_SESSIONS})`, wholeNumber)
    .addOption(
      new Option('--provider <name>', 'where browsers come from (TRAWL_BROWSER_PROVIDER)').choices([...PROVIDERS]),
    )
    .addOption(
      new Option('--strategy <name>', `how URLs are given to sessions (${DEFAULT_STRATEGY})`).choices([...STRATEGIES]),
    )
    .option(
      '--max-items-per-session <n>',
      `maximum number of URLs that a session gets at a time (${DEFAULT_ITEMS_PER_SESSION})`,
      wholeNumber,
    )
    .option('--policy <file>', 'JSON with the execution policy')
    .option('--json', 'one JSON object on stdout at the end')
    .addHelpText('after', HELP);
}

const HELP = `
The job and its pages are kept in .trawl/runs/<domain>: a URL that was scraped is not scraped again, even if the command is killed.
Every URL is reported to the run as it ends: done, failed with the reason, or invalid if it leads to nothing. The run is finalized
when nothing is pending. If the breaker stops the job, the run stays open, and the same command resumes it.

Exit codes: 0 done, 1 some URLs failed, 2 bad usage, 3 the job failed or its breaker tripped, 130 interrupted.`;

async function start(domain: string, { urls: file, ...options }: StartOptions): Promise<void> {
  if (domain === '') throw new ConfigError('name the domain of the run');
  const urls = file === undefined ? [] : await urlsOf(file);
  await carry(options, async () => ({ domain, path: '/runs', more: { domain, urls } }));
}

async function retry(runId: string, { invalid, ...options }: RetryOptions): Promise<void> {
  await carry(options, async (etl) => {
    const { domain } = await etl.run(runId);
    return { domain, path: `/runs/${encodeURIComponent(runId)}/retry`, more: { invalid: invalid === true } };
  });
}

interface Wish {
  readonly domain: string;
  readonly path: string;
  readonly more: object;
}

async function carry(
  options: CarryOptions,
  wishFor: (etl: ReturnType<typeof openEtlRuns>) => Promise<Wish>,
): Promise<void> {
  const base = loadConfig({ backend: EMBEDDED, results: LOCAL_RESULTS, logTo: 'stderr' });
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  const terminal = openTerminal(systemClock());
  // Says what is missing before anything is created.
  const etl = openEtlRuns(base, stop.signal, (text) => terminal.note(printable(text)));
  await endCommand(terminal, options, async () => {
    try {
      const { domain, path, more } = await wishFor(etl);
      const scraper = await scraperForRun(base, options.scraper ?? null, domain);
      const { sessions, strategy, maxItemsPerSession } = options;
      const policy = policyGiven(options);
      const request = {
        ...{ ...more, scraper_id: scraper.id, sessions, strategy, max_items_per_session: maxItemsPerSession },
        ...(policy === null ? {} : { execution_policy: policy }),
      };
      const { provider } = options;
      const place = { domain, lane: scraper.lane, sessions: sessions ?? DEFAULT_SESSIONS };
      const config = configForRun(base, { ...place, ...(provider !== undefined && { provider }) });
      const what = { config, lane: scraper.lane, path, request, terminal, signal: stop.signal, options };
      return await carryOut(what).catch((error: unknown) => {
        const busy = alreadyCarriedOut(error, domain);
        throw busy === null ? error : new CommandFailed(`${busy}. trawl runs list shows how far it is`, EXIT.failed);
      });
    } catch (error) {
      if (error instanceof EtlTrouble) throw new CommandFailed(error.message, EXIT.failed);
      throw error;
    }
  });
}

async function urlsOf(file: string): Promise<readonly string[]> {
  const { name, contentType, open } = urlList(file);
  const bytes = await buffer(open());
  const format = contentType === null ? null : urlFormatOf(contentType);
  const urls = await readUrlFile(name, bytes, format ?? urlFormatOfBytes(bytes));
  if (urls.length === 0) throw new ConfigError(`${name} has no URLs`);
  return urls;
}
