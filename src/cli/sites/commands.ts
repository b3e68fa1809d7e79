import type { Command } from 'commander';
import { sitePath } from '../../contract/client/api-paths.ts';
import type { RemovedSiteAnswer, SiteAnswer, SitesAnswer } from '../../contract/site-answers.ts';
import { type ClientOptions, showAnswer, talkToApi, withClientOptions, withOwnHint } from '../client/command.ts';
import { type Column, tableText } from '../client/table.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';
import { addLookingCommands } from './add-site.ts';
import { addPageCommands } from './page-commands.ts';
import { siteText } from './site-text.ts';

/** `trawl sites …` */
export function addSitesCommands(program: Command): void {
  const sites = program
    .command('sites')
    .description('documentation sites and how they are read')
    .addHelpText(
      'after',
      `
Sites come from sites.json, or are added here. These commands call the API of trawl serve: TRAWL_URL is its address
(default: http://127.0.0.1:8080), TRAWL_API_KEY the key.

Examples:
  $ trawl sites add https://docs.example.com/guide/
  $ trawl sites list
  $ trawl sites test docs.example.com-guide
  $ trawl sites index docs.example.com-guide --out docs`,
    );
  withOwnHint(sites);
  withClientOptions(sites.command('list').description('list sites'))
    .addHelpText('after', '\nExample:\n  $ trawl sites list --json')
    .action(list);
  withClientOptions(sites.command('show').description('show the configuration of a site').argument('<site>', SITE))
    .addHelpText('after', '\nExample:\n  $ trawl sites show example')
    .action(show);
  addLookingCommands(sites);
  addPageCommands(sites);
  withClientOptions(sites.command('remove').description('remove a site').argument('<site>', SITE))
    .addHelpText(
      'after',
      '\nWhat is cached of it stays: see trawl cache clear.\n\nExample:\n  $ trawl sites remove example',
    )
    .action(remove);
}

const SITE = 'id of the site';

const COLUMNS: readonly Column[] = [
  // Never shortened: it is what the user types next.
  { name: 'SITE', max: 64 },
  { name: 'BASE URL', max: 120, isFlexible: true },
  { name: 'MODE' },
  { name: 'CONTENT', isFlexible: true, max: 60 },
  { name: 'SOURCE' },
  { name: 'NAME', isFlexible: true, max: 60 },
];

async function list(options: ClientOptions): Promise<void> {
  await talkToApi(options, async ({ api, out, note }) => {
    const answer = await api.get<SitesAnswer>('/sites');
    if (options.json) await out.json(answer);
    else if (answer.sites.length === 0) note('There are no sites. Add one with trawl sites add, or in sites.json.');
    else await out.write(tableText(COLUMNS, answer.sites.map(rowOf)));
    return EXIT.done;
  });
}

function rowOf({ site_id, config, source }: SiteAnswer): readonly string[] {
  const { method, selector } = config.content;
  const content = [...(method === 'click_copy' ? [method] : []), ...(selector === undefined ? [] : [selector])].join(
    ' ',
  );
  return [site_id, config.baseUrl, config.mode, content, source, config.name ?? ''];
}

async function show(id: string, options: ClientOptions): Promise<void> {
  await showAnswer(options, ({ api }) => api.get<SiteAnswer>(sitePath(id)), siteText);
}

async function remove(id: string, options: ClientOptions): Promise<void> {
  const path = sitePath(id);
  await showAnswer(options, ({ api }) => api.json<RemovedSiteAnswer>({ method: 'DELETE', path }), removedText);
}

function removedText({ site_id, removed, restored }: RemovedSiteAnswer): string {
  if (!removed) return `There was no site ${printable(site_id)}.`;
  return restored
    ? `${printable(site_id)} uses the configuration in the file of sites again.`
    : `The site ${printable(site_id)} is removed.`;
}
