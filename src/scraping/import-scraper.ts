import { errorMessage } from '../domain/error-message.ts';
import { isRecord } from '../domain/is-record.ts';
import type { Scraper } from './scraper.ts';
import { SCRAPER_MODULES, withoutEdit } from './scraper-modules.ts';

/** The default export of a file, as the file is now; null if it has none. Throws an Error that names the file. */
export async function importScraper(file: string): Promise<Scraper | null> {
  let module: Record<string, unknown>;
  try {
    module = await SCRAPER_MODULES.import(file);
  } catch (error) {
    throw new Error(`${placeOf(error, file)} cannot be loaded: ${errorMessage(error)}`, { cause: error });
  }
  if (!('default' in module)) return null;
  if (isScraper(module['default'])) return module['default'];
  throw new Error(
    `${file}: its default export is not a scraper; create one with defineHttpScraper({ … }) or a similar function`,
  );
}

function isScraper(value: unknown): value is Scraper {
  return (
    isRecord(value) &&
    ['id', 'name', 'version', 'description', 'kind', 'lane'].every((field) => typeof value[field] === 'string') &&
    Array.isArray(value['hosts']) &&
    isRecord(value['input']) &&
    typeof value['scrape'] === 'function'
  );
}

/** The parser names the place in the first line of its stack: a line of the file, or of another that it imports. */
function placeOf(error: unknown, file: string): string {
  const [first = ''] = error instanceof Error ? withoutEdit(error.stack ?? '').split('\n') : [];
  const [, path, line] = /^(?:file:\/\/)?(\/.*|[A-Za-z]:.*):(\d+)$/.exec(first) ?? [];
  if (path === undefined) return file;
  return path === file ? `${file}:${line}` : `${file} (in ${path}:${line})`;
}
