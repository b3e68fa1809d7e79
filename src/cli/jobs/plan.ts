import { type Command, InvalidArgumentError } from 'commander';
import { ConfigError } from '../../config.ts';
import { MAX_SAMPLE } from '../../domain/job-plan.ts';
import { type ColumnOptions, columnQuery, withColumnOptions } from '../client/columns.ts';
import { type ClientOptions, talkToApi, withClientOptions } from '../client/command.ts';
import { wholeNumber } from '../options.ts';
import { itemList } from './item-list.ts';
import { command, commandLine } from './job-text.ts';
import { planList } from './plan-list.ts';
import { exitCodeOfPlan, planText, withoutPlanning } from './plan-text.ts';
import { policyGiven } from './policy-option.ts';

interface PlanOptions extends ClientOptions, ColumnOptions {
  readonly items: string;
  readonly policy?: string;
  readonly concurrency?: number;
  readonly limit?: number;
  readonly sample?: number;
  readonly keep?: true;
}

export function addPlanCommand(jobs: Command): void {
  withClientOptions(
    withColumnOptions(
      jobs
        .command('plan')
        .description('check a list and run a sample of it: what a job would take, before it is created')
        .argument('<scraper>', 'scraper id (see trawl scrapers list)')
        .requiredOption('--items <file>', 'CSV, JSONL or JSON file with the items; - reads stdin'),
    )
      .option('--sample <n>', SAMPLE_HELP, sampleSize)
      .option('--limit <n>', 'plan only the first n items of the list', wholeNumber)
      .option('--policy <file>', 'JSON file with the execution policy')
      .option(
        '--concurrency <n>',
        'items to process at a time (throttling.max_concurrent_workers of the policy)',
        wholeNumber,
      )
      .option('--keep', 'keep the job of the sample and its results'),
  )
    .addHelpText('after', HELP)
    .action(plan);
}

export const SAMPLE_HELP = `items to run, at most ${MAX_SAMPLE}; 0 only checks the list (default: 20, or 3 per item at a time)`;

/** For commander. */
export function sampleSize(text: string): number {
  const size = Number(text);
  if (!/^\d+$/.test(text) || size > MAX_SAMPLE) {
    throw new InvalidArgumentError(`It must be a number from 0 to ${MAX_SAMPLE}.`);
  }
  return size;
}

const HELP = `
Every line of the list is checked: inputs that the scraper does not accept, repeated ids, and different inputs
under one id. A sample, spread over the list, is run as a job of its own under the same policy. Its results
are deleted afterwards; the job runs those items again. In 9 of 10 jobs duration, requests and traffic are
within the range if the site behaves as it did during the sample: blocks and outages are not included.

Exit codes: 0 nothing is wrong, 1 some lines or items of the sample are bad, 2 bad usage or no server, 3 no
line can be used or the sample was stopped, 130 interrupted.

Examples:
  $ trawl jobs plan maricopa-az --items parcels.csv --concurrency 10
  $ trawl jobs plan maricopa-az --items parcels.csv --sample 0       # only check the list
  $ trawl jobs plan maricopa-az --items parcels.csv --json | jq .plan.forecast.duration_seconds`;

async function plan(scraperId: string, options: PlanOptions): Promise<void> {
  const list = itemList({ items: options.items });
  if (list === null) throw new ConfigError('no items given: use --items FILE');
  const policy = policyGiven(options);
  const columns = columnQuery(options);
  await talkToApi(options, async (client) => {
    const planned = await planList(client, {
      ...{ scraperId, list, columns, policy },
      ...(options.limit === undefined ? {} : { limit: options.limit }),
      sample: options.sample ?? null,
      isKept: options.keep === true,
    });
    const start = startCommand(process.argv.slice(2));
    if (options.json) await client.out.json({ ...planned, start });
    else {
      const kept = options.keep && planned.plan !== null ? command(['jobs', 'results', planned.plan.plan_id]) : null;
      await client.out.write(planText(planned, { name: list.name, start, kept }));
    }
    return exitCodeOfPlan(planned);
  });
}

/** The same command as `jobs create`. */
function startCommand(words: readonly string[]): string {
  const at = words.indexOf('plan');
  return commandLine([...withoutPlanning(words.with(at, 'create')), '--watch']);
}
