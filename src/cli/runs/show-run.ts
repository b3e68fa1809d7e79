import type { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { wholeNumber } from '../options.ts';
import { countItems, exitCodeFor, itemsText } from './run-text.ts';
import { type RunsClient, withRuns } from './with-runs.ts';

interface ShowOptions {
  readonly json?: true;
}

interface WatchOptions extends ShowOptions {
  readonly every?: number;
}

const MOST_FAILURES = 20;
const WATCH_SECONDS = 5;

/** Commands about one run. */
export function addShowRunCommands(runs: Command): void {
  runs
    .command('show')
    .description('show a run, and what has failed in it')
    .argument('<run>', 'id of the run')
    .option('--json', 'the run as JSON on stdout, with all items')
    .action(show);
  runs
    .command('watch')
    .description('follow a run until it has ended, wherever it is carried out')
    .argument('<run>', 'id of the run')
    .option('--every <seconds>', `time between two looks (default: ${WATCH_SECONDS})`, wholeNumber)
    .option('--json', 'one JSON object on stdout at the end')
    .action(watch);
  runs
    .command('finalize')
    .description('end a run, whatever is pending in it')
    .argument('<run>', 'id of the run')
    .option('--json', 'one JSON object on stdout')
    .action(finalize);
}

async function show(runId: string, options: ShowOptions): Promise<void> {
  await withRuns(options, async ({ runs, out }) => {
    const run = await runs.run(runId);
    if (options.json) {
      await out.json(run);
      return EXIT.done;
    }
    const bad = run.items.filter(({ done, failed, invalid }) => !done && (failed === true || invalid === true));
    const lines = [
      `Run ${printable(run._id)} of ${printable(run.domain)}: ${run.status ?? (run.endTime === null ? 'open' : 'ended')}`,
      `  began ${run.startTime}${run.endTime === null ? '' : `, ended ${run.endTime}`}`,
      `  ${itemsText(countItems(run.items))}`,
      ...bad.slice(0, MOST_FAILURES).map(({ url, invalid, failedReason }) => {
        const reason = failedReason ? `: ${failedReason}` : '';
        return `  ${invalid === true ? 'invalid' : 'failed'} ${printable(`${url}${reason}`)}`;
      }),
      ...(bad.length > MOST_FAILURES ? [`  and ${bad.length - MOST_FAILURES} more: use --json`] : []),
    ];
    await out.write(`${lines.join('\n')}\n`);
    return EXIT.done;
  });
}

async function watch(runId: string, options: WatchOptions): Promise<void> {
  await withRuns(options, async (client) => {
    const { runs, out, note, signal } = client;
    const everyMs = (options.every ?? WATCH_SECONDS) * 1000;
    for (let said = ''; ; ) {
      const run = await runs.run(runId);
      const items = countItems(run.items);
      const text = itemsText(items);
      if (text !== said) note(text);
      said = text;
      if (run.endTime !== null || ENDED.includes(run.status ?? '')) {
        await tellEnd(client, options, runId, { ...items });
        return exitCodeFor(items);
      }
      await runs.clock.sleep(everyMs, signal);
      if (signal.aborted) {
        if (options.json) await out.json({ run_id: runId, items });
        return EXIT.interrupted;
      }
    }
  });
}

const ENDED = ['finished', 'completed', 'failed'];

async function finalize(runId: string, options: ShowOptions): Promise<void> {
  await withRuns(options, async (client) => {
    const { total, completed, failed, pending } = await client.runs.finalize(runId);
    await tellEnd(client, options, runId, { total, completed, failed, pending });
    return EXIT.done;
  });
}

async function tellEnd(
  { out }: Pick<RunsClient, 'out'>,
  { json }: ShowOptions,
  runId: string,
  items: Parameters<typeof itemsText>[0],
): Promise<void> {
  if (json) await out.json({ run_id: runId, items });
  else await out.write(`Run ${printable(runId)} has ended. ${itemsText(items)}\n`);
}
