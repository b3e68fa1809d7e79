import { isAbsolute, relative, resolve } from 'node:path';
import { ConfigError, loadConfig } from '../../config.ts';
import { openScrapers } from '../../main/scrapers.ts';
import { formatCommand } from '../format.ts';
import { shownPath } from './shown-path.ts';

interface NewOptions {
  readonly folder: string;
  readonly host: string;
  readonly kind: string;
  readonly browser?: true;
  readonly recording?: true;
  readonly json?: true;
}

/** `trawl scrapers new` */
export async function newScraper(id: string, options: NewOptions): Promise<void> {
  const { folder, host } = options;
  const asked = options.browser ? 'browser' : options.recording ? 'recording' : options.kind;
  const workshop = await openScrapers(loadConfig());
  const kind = workshop.newKinds.find((each) => each === asked);
  if (kind === undefined) throw new ConfigError(`--kind must be one of ${workshop.newKinds.join(', ')}`);
  const answer = await workshop.create({ id, folder, host, kind });
  if (answer.kind === 'refused') throw new ConfigError(answer.because);
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ id, files: answer.files }, null, 2)}\n`);
    return;
  }
  // Looked up again, because `./scrapers` is only a scraper folder once it exists.
  const { folders } = await openScrapers(loadConfig());
  const isFound = folders.some((known) => isBelow(resolve(folder), resolve(known)));
  const setting = isFound ? '' : `TRAWL_SCRAPERS=${formatCommand([folder])} `;
  process.stdout.write(`${answer.files.map((file) => `wrote ${shownPath(file)}`).join('\n')}

Next:
  $ ${setting}trawl scrapers test ${id}
  $ ${setting}trawl try ${id} --input apn=100-20-300 --watch
  $ ${setting}trawl scrapers test ${id} --record --input apn=100-20-300
`);
  if (!isFound) process.stdout.write(`\n${folder} is not one of the scraper folders yet: hence TRAWL_SCRAPERS.\n`);
}

function isBelow(folder: string, above: string): boolean {
  const way = relative(above, folder);
  return way === '' || (way !== '..' && !/^\.\.[\\/]/.test(way) && !isAbsolute(way));
}
