import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import { errorsPath } from '../../contract/client/api-paths.ts';
import type { ClearedErrorsAnswer, ErrorsAnswer, PathErrorsAnswer } from '../../contract/site-answers.ts';
import { type ClientOptions, showAnswer, talkToApi, withClientOptions, withOwnHint } from '../client/command.ts';
import { type ListOptions, showList, withListOptions } from '../client/show-list.ts';
import type { Column } from '../client/table.ts';
import { formatCount, formatItems } from '../format.ts';

interface ClearOptions extends ClientOptions {
  readonly all?: true;
}

/** `trawl errors …` */
export function addErrorsCommands(program: Command): void {
  const errors = program
    .command('errors')
    .description('pages of documentation sites that failed')
    .addHelpText(
      'after',
      `
After three failures, jobs skip a page for 24 hours. These commands call the API of trawl serve: TRAWL_URL is its address
(default: http://127.0.0.1:8080), TRAWL_API_KEY the key.

Examples:
  $ trawl errors list example
  $ trawl errors clear example`,
    );
  withOwnHint(errors);
  withListOptions(
    withClientOptions(
      errors
        .command('list')
        .description('list pages that failed, and until when they are skipped')
        .argument('[site]', 'id of the site (default: all sites)'),
    ),
  )
    .addHelpText('after', '\nExample:\n  $ trawl errors list --all --json')
    .action(list);
  withClientOptions(
    errors
      .command('clear')
      .description('forget the failures of a site, so that its pages are tried again')
      .argument('[site]', 'id of the site')
      .option('--all', 'those of all sites'),
  )
    .addHelpText('after', '\nExamples:\n  $ trawl errors clear example\n  $ trawl errors clear --all')
    .action(clear);
}

const COLUMNS: readonly Column[] = [
  { name: 'SITE', max: 80 },
  { name: 'PATH', isFlexible: true, max: 200 },
  { name: 'FAILURES', isNumber: true },
  { name: 'FAILED' },
  { name: 'SKIPPED UNTIL' },
  { name: 'LAST ERROR', isFlexible: true, max: 200 },
];

async function list(site: string | undefined, options: ClientOptions & ListOptions): Promise<void> {
  await talkToApi(options, (client) =>
    showList<ErrorsAnswer, PathErrorsAnswer>(client, options, {
      path: site === undefined ? '/errors' : errorsPath(site),
      query: {},
      entries: ({ errors }) => errors,
      pageSize: 1000,
      columns: COLUMNS,
      row: ({ site_id, path, count, failed_at, skipped_until, last_error }) => [
        ...[site_id, path, formatCount(count), minuteOf(failed_at)],
        ...[skipped_until === null ? '' : minuteOf(skipped_until), last_error],
      ],
      nothing: 'No page has failed.',
    }),
  );
}

function minuteOf(time: string): string {
  return time.slice(0, 16).replace('T', ' ');
}

async function clear(site: string | undefined, options: ClearOptions): Promise<void> {
  if ((site === undefined) === (options.all === undefined)) throw new ConfigError('name a site, or use --all');
  const path = site === undefined ? '/errors' : errorsPath(site);
  await showAnswer(
    options,
    ({ api }) => api.json<ClearedErrorsAnswer>({ method: 'DELETE', path }),
    ({ removed }) => `Forgot the failures of ${formatItems(removed, 'page')}.`,
  );
}
