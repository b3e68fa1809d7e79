import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { Interrupted, Refused } from '../contract/client/api-error.ts';
import { jobPath } from '../contract/client/api-paths.ts';
import type { ChangesAnswer, ExtractedAnswer } from '../contract/extraction-answers.ts';
import type { JobAnswer, JobStatusAnswer } from '../contract/job-answers.ts';
import { NO_COUNTS } from '../domain/counts.ts';
import { type Client, type ClientOptions, talkToApi, withClientOptions } from './client/command.ts';
import { CommandFailed } from './client/command-failure.ts';
import { type Column, tableText } from './client/table.ts';
import { EXIT } from './exit-codes.ts';
import { formatCount, formatItems, printable } from './format.ts';
import { again, exitCodeOfJob, itemsText, jobEndText } from './jobs/job-text.ts';
import { watchJob } from './jobs/watch-job.ts';
import { type Progress, RateWindow } from './progress.ts';

interface ExtractOptions extends ClientOptions {
  readonly scraper?: string;
  readonly jobId?: string;
  readonly replace?: true;
  readonly yes?: true;
}

export function addExtractCommand(program: Command): void {
  withClientOptions(
    program
      .command('extract')
      .description('parse the stored pages of a job again, without contacting the site')
      .argument('<job>', 'job id')
      .option('--scraper <id>', 'scraper whose parse to run (default: that of the job)')
      .option('--job-id <id>', 'id of the new job, so that the command can be repeated')
      .option('--replace', 'replace the old data without asking')
      .option('--yes', 'same as --replace'),
  )
    .addHelpText('after', HELP)
    .action(extract);
}

const HELP = `
It creates a new job, shows which fields differ in how many items, and asks whether to replace the old data. Items
that the new parse cannot read keep their data. Failed items whose stored page can now be read become successes when
the data are replaced. Nothing is lost either way.

Exit codes: 0 done, 1 some items could not be read, 2 bad usage or no server, 3 the job failed, 130 interrupted.

Examples:
  $ trawl extract parcels-2026
  $ trawl extract parcels-2026 --scraper maricopa-az-v2 --json
  $ trawl extract parcels-2026 --job-id parcels-2026-b --replace`;

async function extract(jobId: string, options: ExtractOptions): Promise<void> {
  await talkToApi(options, async (client) => {
    const newId = options.jobId ?? client.api.clock.id();
    await begin(client, jobId, newId, options);
    const job = await watchJob(client, newId);
    if (job.status !== 'completed') {
      if (options.json) await client.out.json(job);
      else await client.out.write(`${jobEndText(job)}\n`);
      return exitCodeOfJob(job);
    }
    const changes = await untilCompared(client, newId);
    if (!options.json) await client.out.write(changesText(changes));
    const isReplaced = await decide(client, changes, options);
    if (options.json) await client.out.json({ ...changes, replaced: isReplaced });
    return exitCodeOfJob(job);
  });
}

/** The server collects the items before it answers. */
const BEGIN_MS = 10 * 60_000;

async function begin({ api, note }: Client, jobId: string, newId: string, options: ExtractOptions): Promise<void> {
  const { scraper } = options;
  try {
    const begun = await api.json<ExtractedAnswer>({
      method: 'POST',
      path: `${jobPath(jobId)}/extract`,
      body: { job_id: newId, ...(scraper === undefined ? {} : { scraper_id: scraper }) },
      // The id makes it the same job.
      isRepeatable: true,
      silenceMs: BEGIN_MS,
    });
    const { seeded_count: pages, without_page: without } = begun;
    const kept =
      without > 0
        ? `; ${formatItems(without)} without a stored page ${without === 1 ? 'stays' : 'stay'} unchanged`
        : '';
    note(`Job ${printable(newId)} parses ${formatItems(pages, 'page')} of ${printable(jobId)}${kept}.`);
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'job_exists') throw error;
    // The scraper may have changed since the job was created; its data are there all the same.
    const job = await api.get<JobAnswer>(jobPath(newId));
    if (job.input.extracts !== jobId || job.held) throw error;
    note(`Continuing job ${printable(newId)}, created with scraper version ${printable(job.scraper_version)}.`);
  }
}

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 2000;
const STANDSTILL_MS = 5 * 60_000;

/** Polls with growing delays until everything is compared. */
async function untilCompared({ api, show }: Client, jobId: string): Promise<ChangesAnswer> {
  const path = `${jobPath(jobId)}/changes`;
  let changes = await api.get<ChangesAnswer>(path);
  const rate = new RateWindow();
  const look = async (): Promise<Progress> => {
    const { compared, total } = changes;
    rate.add(api.clock.elapsed(), compared);
    // `cancelled` is counted in the progress line but not mentioned by name.
    const counts = { ...NO_COUNTS, total, cancelled: compared };
    return { counts, failures: new Map(), perSecond: rate.perSecond(), note: 'comparing', pace: null };
  };
  const display = show(look);
  try {
    let delayMs = FIRST_DELAY_MS;
    let movedAt = api.clock.elapsed();
    while (changes.state !== 'complete') {
      await api.clock.sleep(delayMs, api.signal);
      if (api.signal.aborted) throw new CommandFailed(`interrupted. To continue:\n  ${again(jobId)}`, EXIT.interrupted);
      delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS);
      const { compared } = changes;
      changes = await api.get<ChangesAnswer>(path);
      display.poke();
      if (changes.compared !== compared) movedAt = api.clock.elapsed();
      if (api.clock.elapsed() - movedAt > STANDSTILL_MS) {
        throw new CommandFailed('the comparison makes no progress: see the server log', EXIT.failed);
      }
    }
    return changes;
  } finally {
    await display.stop();
  }
}

const COLUMNS: readonly Column[] = [
  { name: 'FIELD', isFlexible: true, max: 60 },
  { name: 'CHANGED', isNumber: true },
  { name: 'ADDED', isNumber: true },
  { name: 'REMOVED', isNumber: true },
  { name: 'EXAMPLE', isFlexible: true },
];

export function changesText({ compared, changed, failed, recovered, fields }: ChangesAnswer): string {
  const rows = fields.map(({ field, items, added, removed, examples: [example] }) => [
    field,
    ...[items, added, removed].map(formatCount),
    example === undefined ? '' : `${example.item_id}: ${valueText(example.before)} → ${valueText(example.after)}`,
  ]);
  const lost =
    failed > 0
      ? ` ${formatItems(failed)} could not be parsed and ${failed === 1 ? 'keeps its' : 'keep their'} data.`
      : '';
  const won =
    recovered > 0
      ? ` ${formatItems(recovered, 'failed item')} would become ${recovered === 1 ? 'a success' : 'successes'}.`
      : '';
  const head = `${formatCount(changed)} of ${formatItems(compared)} would change.${won}${lost}\n`;
  return rows.length === 0 ? head : `${head}\n${tableText(COLUMNS, rows)}`;
}

/** Short enough for two values in a line. */
function valueText(value: unknown): string {
  return value === undefined || value === null ? 'nothing' : printable(JSON.stringify(value), 60);
}

/** Whether the new data have replaced the old. */
async function decide(client: Client, changes: ChangesAnswer, options: ExtractOptions): Promise<boolean> {
  const { api, note } = client;
  const { job_id: newId, extracts, changed, recovered, replaced } = changes;
  const isWanted = options.replace === true || options.yes === true;
  const old = printable(extracts);
  if (replaced) {
    note(`The data of ${old} were already replaced.`);
    return true;
  }
  if (changed === 0 && recovered === 0) {
    note('Nothing differs, so there is nothing to replace.');
    return false;
  }
  const isAsked = process.stdin.isTTY === true && process.stderr.isTTY === true && !options.json;
  if (!isWanted && !(isAsked && (await isYes(client, `Replace the data of ${old}? [y/N] `)))) {
    note(`The data of ${old} are unchanged. To replace them:\n  ${again(newId, '--replace')}`);
    return false;
  }
  // Replacing twice has the same effect as replacing once.
  await api.post<JobStatusAnswer>(`${jobPath(newId)}/replace`, undefined, { isRepeatable: true });
  const job = await untilReplaced(client, extracts);
  note(`The data of ${old} were replaced: ${itemsText(job)}.`);
  return true;
}

/**
 * The older job once its recovered items are successes and its index refers to the new data: until then, a copy of the
 * results would contain some of both.
 */
async function untilReplaced({ api, note }: Client, jobId: string): Promise<JobAnswer> {
  let delayMs = FIRST_DELAY_MS;
  let isAnnounced = false;
  for (;;) {
    const job = await api.get<JobAnswer>(jobPath(jobId));
    const isIndexed = job.results.ready || (job.status !== 'completed' && job.status !== 'cancelled');
    // An older server does not have the field and recovers nothing.
    if (!job.recovering && isIndexed) return job;
    if (job.recovering && !isAnnounced) note('Turning failed items that can now be parsed into successes …');
    isAnnounced = true;
    await api.clock.sleep(delayMs, api.signal);
    if (api.signal.aborted) throw new CommandFailed('interrupted; the server continues', EXIT.interrupted);
    delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS);
  }
}

/** Anything but yes means no, and so does the end of the input. */
async function isYes({ api }: Client, question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new AbortController();
  let isInterrupted = false;
  lines.once('close', () => closed.abort());
  // While a question is open, readline receives Ctrl-C.
  lines.once('SIGINT', () => {
    isInterrupted = true;
    lines.close();
  });
  try {
    const answer = await lines.question(question, { signal: AbortSignal.any([api.signal, closed.signal]) });
    return /^y(?:es)?$/i.test(answer.trim());
  } catch (error) {
    if (isInterrupted || api.signal.aborted) throw new Interrupted();
    if (closed.signal.aborted) return false;
    throw error;
  } finally {
    lines.close();
  }
}
