import type { Command } from 'commander';
import { Refused } from '../../contract/client/api-error.ts';
import { jobPath, sitePath } from '../../contract/client/api-paths.ts';
import type { JobAnswer } from '../../contract/job-answers.ts';
import type {
  IndexedAnswer,
  LinksPendingAnswer,
  SiteContentAnswer,
  SiteLinksAnswer,
} from '../../contract/site-page-answers.ts';
import { checkPagesOptions, type PagesOptions, writePages } from '../bulk/write-pages.ts';
import { type Client, type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { exitCodeOfJob } from '../jobs/job-text.ts';
import { watchJob } from '../jobs/watch-job.ts';
import { wholeNumber } from '../options.ts';

interface AgeOptions extends ClientOptions {
  readonly maxAge?: number;
}

interface IndexOptions extends AgeOptions, Partial<PagesOptions> {
  readonly delay?: number;
  readonly containers?: number;
  readonly maxItems?: number;
  readonly watch?: true;
}

const SITE = 'id of the site';
const MAX_AGE = 'take what was read within this time from the cache (604800); 0 asks the site';

/** `trawl sites content`, `links` and `index` */
export function addPageCommands(sites: Command): void {
  withClientOptions(
    sites
      .command('content')
      .description('print one page of a site as Markdown')
      .argument('<site>', SITE)
      .argument('[path]', 'path of the page below the baseUrl of the site (default: its defaultPath)')
      .option('--max-age <seconds>', MAX_AGE, seconds),
  )
    .addHelpText('after', '\nExample:\n  $ trawl sites content example /install > install.md')
    .action(content);
  withClientOptions(
    sites
      .command('links')
      .description('list the pages of a site that its sitemaps, its llms.txt and its start pages lead to')
      .argument('<site>', SITE)
      .option('--max-age <seconds>', MAX_AGE, seconds),
  )
    .addHelpText('after', '\nExample:\n  $ trawl sites links example | grep /reference/ | trawl bulk - --out reference')
    .action(links);
  withClientOptions(
    sites
      .command('index')
      .description('pull a whole site, as a job of the server')
      .argument('<site>', SITE)
      .option('--max-age <seconds>', MAX_AGE, seconds)
      .option('--delay <ms>', 'time between two requests of a batch (1000)', seconds)
      .option('--containers <n>', 'batches at the same time (10)', wholeNumber)
      .option('--max-items <n>', 'add at most so many pages that were found (100000)', wholeNumber)
      .option('--watch', 'show the progress until the job is over')
      .option(
        '--out <folder>',
        'wait for the job, and write its pages into a folder of Markdown files, or a file that ends in .zip',
      )
      .option('--llms-full', 'with --out: write all pages into llms-full.txt, too')
      .option('--front-matter', 'with --out: begin each file with title and source'),
  )
    .addHelpText(
      'after',
      `
Exit codes: 0 done, 1 some pages failed, 2 bad usage, 3 the job failed.

Examples:
  $ trawl sites index example --watch
  $ trawl sites index example --out docs --delay 500`,
    )
    .action(index);
}

function seconds(text: string): number {
  return text === '0' ? 0 : wholeNumber(text);
}

async function content(id: string, path: string | undefined, options: AgeOptions): Promise<void> {
  await talkToApi(options, async ({ api, out }) => {
    const query = { path, max_age: options.maxAge };
    const page = await api
      .json<SiteContentAnswer>({ method: 'GET', path: `${sitePath(id)}/content`, query, silenceMs: SILENCE_MS })
      .catch(unreadable);
    if (options.json) await out.json(page);
    else await out.write(page.markdown);
    return EXIT.done;
  });
}

/** Longer than the server waits for a page. */
const SILENCE_MS = 180_000;
const PAUSE_MS = 5000;

async function links(id: string, options: AgeOptions): Promise<void> {
  await talkToApi(options, async (client) => {
    const found = await untilCollected(client, id, options);
    if (options.json) await client.out.json(found);
    else await client.out.write(found.links.map((url) => `${printable(url)}\n`).join(''));
    if (!found.complete) client.note('The list is not complete: something could not be read, or a limit was reached.');
    return found.complete ? EXIT.done : EXIT.someItemsFailed;
  });
}

async function untilCollected({ api, note }: Client, id: string, { maxAge }: AgeOptions): Promise<SiteLinksAnswer> {
  for (let looks = 0; ; looks += 1) {
    const query = { max_age: looks === 0 ? maxAge : undefined };
    const answer = await api
      .json<SiteLinksAnswer | LinksPendingAnswer>({
        ...{ method: 'GET', path: `${sitePath(id)}/links`, query, silenceMs: SILENCE_MS },
      })
      .catch(unreadable);
    if (!('status' in answer)) return answer;
    if (looks === 0) note('The links are being collected …');
    await api.clock.sleep(PAUSE_MS, api.signal);
  }
}

/** A page that cannot be read is not a mistake in the command. */
function unreadable(error: unknown): never {
  if (!(error instanceof Refused) || !/^page_/.test(error.code)) throw error;
  throw new CommandFailed(error.message, EXIT.failed, error.problem);
}

async function index(id: string, options: IndexOptions): Promise<void> {
  const { out: target } = options;
  const pages = target === undefined ? null : { ...options, out: target };
  if (pages !== null) checkPagesOptions(pages);
  await talkToApi(options, async (client) => {
    const { api, out, note } = client;
    const { maxAge, delay, containers, maxItems } = options;
    const created = await api.post<IndexedAnswer>(`${sitePath(id)}/index`, {
      ...(maxAge === undefined ? {} : { max_age: maxAge }),
      ...(delay === undefined ? {} : { delay_ms: delay }),
      ...(containers === undefined ? {} : { max_containers: containers }),
      ...(maxItems === undefined ? {} : { execution_policy: { discovery: { max_items: maxItems } } }),
    });
    const { job_id: jobId, warnings = [] } = created;
    for (const { message } of warnings) note(`Warning: ${message}`);
    if (!options.watch && pages === null) {
      if (options.json) await out.json(created);
      else await out.write(`Created job ${jobId}; see trawl jobs watch ${jobId}.\n`);
      return EXIT.done;
    }
    await watchJob(client, jobId);
    const written = pages === null ? null : await writePages(client, jobId, pages);
    const job = await api.get<JobAnswer>(jobPath(jobId));
    if (options.json) await out.json(job);
    else {
      const { success, skipped, failed } = job.progress;
      const where = written === null ? '' : ` Written: ${written.text}.`;
      await out.write(
        `Job ${jobId}: ${success} read, ${skipped} from the cache or left out, ${failed} failed.${where}\n`,
      );
    }
    return exitCodeOfJob(job);
  });
}
