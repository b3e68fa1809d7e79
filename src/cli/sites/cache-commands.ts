import type { Command } from 'commander';
import { cachePath } from '../../contract/client/api-paths.ts';
import type {
  CacheEntryAnswer,
  CacheKeysAnswer,
  CacheStatsAnswer,
  ClearedSiteAnswer,
} from '../../contract/site-answers.ts';
import { type ClientOptions, showAnswer, talkToApi, withClientOptions, withOwnHint } from '../client/command.ts';
import { type ListOptions, showList, withListOptions } from '../client/show-list.ts';
import { type Column, tableText } from '../client/table.ts';
import { formatBytes, formatCount, formatItems, printable } from '../format.ts';

interface KeysOptions extends ClientOptions, ListOptions {
  readonly site?: string;
}

/** `trawl cache …` */
export function addCacheCommands(program: Command): void {
  const cache = program
    .command('cache')
    .description('cached pages of documentation sites')
    .addHelpText(
      'after',
      `
These commands call the API of trawl serve: TRAWL_URL is its address (default: http://127.0.0.1:8080), TRAWL_API_KEY the key.

Examples:
  $ trawl cache stats
  $ trawl cache keys --site example
  $ trawl cache clear example`,
    );
  withOwnHint(cache);
  withClientOptions(cache.command('stats').description('count what is cached, by site'))
    .addHelpText('after', '\nExample:\n  $ trawl cache stats --json')
    .action(stats);
  withListOptions(
    withClientOptions(
      cache
        .command('keys')
        .description('list cached pages and links to files')
        .option('--site <site>', 'only those of the site with this id'),
    ),
  )
    .addHelpText('after', '\nExample:\n  $ trawl cache keys --site example --all --json')
    .action(keys);
  withClientOptions(
    cache.command('clear').description('remove all that is cached of a site').argument('<site>', 'id of the site'),
  )
    .addHelpText('after', '\nExample:\n  $ trawl cache clear example')
    .action(clear);
}

const STATS: readonly Column[] = [
  { name: 'SITE', max: 80 },
  { name: 'PAGES', isNumber: true },
  { name: 'FILES', isNumber: true },
  { name: 'FLAGGED', isNumber: true },
  { name: 'SIZE', isNumber: true },
  { name: 'OLDEST' },
  { name: 'NEWEST' },
];

async function stats(options: ClientOptions): Promise<void> {
  await showAnswer(options, ({ api }) => api.get<CacheStatsAnswer>('/cache/stats'), statsText);
}

function statsText({ sites, pages, assets, flagged, bytes }: CacheStatsAnswer): string {
  if (sites.length === 0) return 'Nothing is cached.';
  const rows = sites.map((site) => [
    site.site_id,
    ...[site.pages, site.assets, site.flagged].map(formatCount),
    formatBytes(site.bytes),
    ...[site.oldest_at, site.newest_at].map((time) => time.slice(0, 16).replace('T', ' ')),
  ]);
  const total = ['total', ...[pages, assets, flagged].map(formatCount), formatBytes(bytes), '', ''];
  return tableText(STATS, sites.length === 1 ? rows : [...rows, total]);
}

const KEYS: readonly Column[] = [
  { name: 'SITE', max: 80 },
  { name: 'PATH', isFlexible: true, max: 200 },
  { name: 'TYPE' },
  { name: 'SIZE', isNumber: true },
  { name: 'FETCHED' },
  { name: 'FLAGGED' },
  { name: 'TITLE', isFlexible: true, max: 60 },
];

async function keys(options: KeysOptions): Promise<void> {
  await talkToApi(options, (client) =>
    showList<CacheKeysAnswer, CacheEntryAnswer>(client, options, {
      path: '/cache/keys',
      query: { site: options.site },
      entries: ({ entries }) => entries,
      pageSize: 1000,
      columns: KEYS,
      row: ({ site_id, path, type, size, fetched_at, flagged, title }) => [
        ...[site_id, path, type, type === 'asset' ? '' : formatBytes(size)],
        ...[fetched_at.slice(0, 16).replace('T', ' '), flagged ? 'yes' : '', title ?? ''],
      ],
      nothing: 'Nothing is cached.',
    }),
  );
}

async function clear(site: string, options: ClientOptions): Promise<void> {
  const path = cachePath(site);
  await showAnswer(
    options,
    ({ api }) => api.json<ClearedSiteAnswer>({ method: 'DELETE', path }),
    ({ site_id, removed }) => `Removed ${formatItems(removed, 'cached page')} of ${printable(site_id)}.`,
  );
}
