import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { Interrupted } from '../contract/client/api-error.ts';
import { jobPath } from '../contract/client/api-paths.ts';
import type { ChangesAnswer } from '../contract/extraction-answers.ts';
import { type Client, type ClientOptions, talkToApi, withClientOptions } from './client/command.ts';
import { untilCompared } from './comparing.ts';
import { beginExtraction, changesText, isDifferent, replaceData } from './extracting.ts';
import { printable } from './format.ts';
import { again, exitCodeOfJob, jobEndText } from './jobs/job-text.ts';
import { watchJob } from './jobs/watch-job.ts';

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
    await beginExtraction(client, { jobId, newId, scraper: options.scraper });
    const job = await watchJob(client, newId);
    if (job.status !== 'completed') {
      if (options.json) await client.out.json(job);
      else await client.out.write(`${jobEndText(job)}\n`);
      return exitCodeOfJob(job);
    }
    const changes = await untilCompared<ChangesAnswer>(client, { path: `${jobPath(newId)}/changes` }, again(newId));
    if (!options.json) await client.out.write(changesText(changes));
    const isReplaced = await decide(client, changes, options);
    if (options.json) await client.out.json({ ...changes, replaced: isReplaced });
    return exitCodeOfJob(job);
  });
}

/** Asks the user if needed; returns whether the new data have replaced the old. */
async function decide(client: Client, changes: ChangesAnswer, options: ExtractOptions): Promise<boolean> {
  const { note } = client;
  const { job_id: newId, extracts, replaced } = changes;
  const isWanted = options.replace === true || options.yes === true;
  const old = printable(extracts);
  if (replaced) {
    note(`The data of ${old} were already replaced.`);
    return true;
  }
  if (!isDifferent(changes)) {
    note('Nothing differs, so there is nothing to replace.');
    return false;
  }
  const isAsked = process.stdin.isTTY === true && process.stderr.isTTY === true && !options.json;
  if (!isWanted && !(isAsked && (await isYes(client, `Replace the data of ${old}? [y/N] `)))) {
    note(`The data of ${old} are unchanged. To replace them:\n  ${again(newId, '--replace')}`);
    return false;
  }
  await replaceData(client, changes);
  return true;
}

/** Anything but yes means no, including the end of the input. */
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
