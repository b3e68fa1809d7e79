import { styleText } from 'node:util';
import type { Command } from 'commander';
import { scraperPath } from '../../contract/client/api-paths.ts';
import type { RemovedScraperAnswer, ScraperAnswer, ScrapersAnswer } from '../../contract/scraper-answers.ts';
import { type ClientOptions, showAnswer, talkToApi, withClientOptions } from '../client/command.ts';
import { readJsonFile } from '../client/json-file.ts';
import { type Column, tableText } from '../client/table.ts';
import { EXIT } from '../exit-codes.ts';
import { formatItems, printable } from '../format.ts';

/** For commands that show what is here or, on request, what a server has. */
export interface ServerOptions extends ClientOptions {
  readonly server?: true;
}

export function isOnServer({ server, url }: ServerOptions): boolean {
  return server === true || url !== undefined;
}

/** `trawl scrapers add` and `remove`: recordings that a server keeps. */
export function addServerCommands(scrapers: Command): void {
  withClientOptions(
    scrapers
      .command('add')
      .description('store a recording on a server, as a scraper that jobs can use')
      .argument('<file>', 'a recording (see trawl recordings)'),
  )
    .addHelpText(
      'after',
      `
A version never changes: give a changed recording another version. New jobs use the version that was stored last; a job
keeps the one that it was created with.

Exit codes: 0 stored, or there with the same content; 2 it was refused.

Examples:
  $ trawl scrapers add my-county.recording.json
  $ trawl jobs create my-county --items parcels.csv`,
    )
    .action(add);
  withClientOptions(
    scrapers
      .command('remove')
      .description('delete a recording that a server stores, with all its versions')
      .argument('<id>', 'the scraper'),
  )
    .addHelpText(
      'after',
      `
It is refused while a job that uses it is not finished. Finished jobs keep a copy, and can be retried.

Example:
  $ trawl scrapers remove my-county`,
    )
    .action(remove);
}

async function add(file: string, options: ClientOptions): Promise<void> {
  const recording = readJsonFile('recording', file);
  await showAnswer(
    options,
    ({ api }) => api.post<ScraperAnswer>('/scrapers', recording, { isRepeatable: true }),
    ({ id, version, versions }) => {
      const current = versions.at(-1)?.version;
      const note = current === version ? 'new jobs use it' : `new jobs use ${printable(current ?? '')}`;
      return `Stored ${id} ${printable(version)}: ${note}. See trawl scrapers show ${id} --server.`;
    },
  );
}

async function remove(id: string, options: ClientOptions): Promise<void> {
  await showAnswer(
    options,
    ({ api }) => api.json<RemovedScraperAnswer>({ method: 'DELETE', path: scraperPath(id) }),
    ({ versions }) => `Removed ${printable(id)} with ${formatItems(versions, 'version')}.`,
  );
}

const COLUMNS: readonly Column[] = [
  { name: 'ID', max: 80 },
  { name: 'NAME', isFlexible: true },
  { name: 'VERSION' },
  { name: 'KIND' },
  { name: 'HOSTS', isFlexible: true },
  { name: 'SOURCE' },
];

export async function listOnServer(options: ServerOptions): Promise<void> {
  await talkToApi(options, async ({ api, out, note }) => {
    const answer = await api.get<ScrapersAnswer>('/scrapers');
    const { scrapers, broken } = answer;
    if (options.json) await out.json(answer);
    else {
      const rows = scrapers.map(({ id, name, version, kind, hosts, source }) => {
        return [id, name, version, kind, hosts?.join(' ') ?? '', source];
      });
      await out.write(tableText(COLUMNS, rows));
      for (const { problem } of broken) note(`Cannot be used: ${printable(problem, 1000)}`);
    }
    return broken.length > 0 ? EXIT.someItemsFailed : EXIT.done;
  });
}

export async function showOnServer(id: string, options: ServerOptions): Promise<void> {
  await showAnswer(options, ({ api }) => api.get<ScraperAnswer>(scraperPath(id)), scraperText);
}

function scraperText(scraper: ScraperAnswer): string {
  const { id, name, version, description, kind, lane, hosts, source, versions } = scraper;
  const stored = versions.map((each) => `${printable(each.version)} (${each.added_at})`);
  return [
    `${styleText('bold', printable(name))}  ${printable(version)}`,
    printable(description, 1000),
    '',
    `id        ${printable(id)}`,
    `kind      ${printable(kind)} (lane ${lane})`,
    `hosts     ${printable(hosts?.join(' ') || 'any: the input names them', 1000)}`,
    `source    ${source === 'api' ? 'stored through the API' : 'a file of the server'}`,
    ...(stored.length === 0 ? [] : [`versions  ${stored.join(', ')}`]),
    '',
    styleText('bold', 'input'),
    JSON.stringify(scraper.input_schema, null, 2),
    '',
    styleText('bold', 'data'),
    scraper.output_schema === null ? 'none' : JSON.stringify(scraper.output_schema, null, 2),
  ].join('\n');
}
