import { type RegisterHooksOptions, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { errorMessage } from '../domain/error-message.ts';
import { isRecord } from '../domain/is-record.ts';
import type { Scraper } from './scraper.ts';

/** The scraper that a file exports by default; null when it exports no default. Throws an Error that names the file. */
export async function importScraper(file: string): Promise<Scraper | null> {
  AUTHORS_MODULE.makeResolvable();
  let module: Record<string, unknown>;
  try {
    module = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new Error(`${placeOf(error, file)} cannot be loaded: ${errorMessage(error)}`, { cause: error });
  }
  if (!('default' in module)) return null;
  if (isScraper(module['default'])) return module['default'];
  throw new Error(
    `${file}: its default export is not a scraper; create one with defineHttpScraper({ … }) or a similar function`,
  );
}

/**
 * Makes `trawl/scraper` mean this Trawl for every file, wherever it is: an author needs neither a package nor an
 * install to write a scraper. A `.ts` file in a folder without a package, or in one that does not say, is a module.
 */
class AuthorsModule {
  #hooks: unknown = null;

  makeResolvable(): void {
    this.#hooks ??= registerHooks({ resolve });
  }
}

const AUTHORS_MODULE = new AuthorsModule();
const AUTHORS_URL = new URL('./author.ts', import.meta.url).href;

const resolve: NonNullable<RegisterHooksOptions['resolve']> = (specifier, context, next) => {
  if (specifier === 'trawl/scraper') return { url: AUTHORS_URL, format: 'module-typescript', shortCircuit: true };
  const found = next(specifier, context);
  const isUndecided = (found.format === null || found.format === undefined) && found.url.endsWith('.ts');
  return isUndecided ? { ...found, format: 'module-typescript' } : found;
};

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
  const [first = ''] = error instanceof Error ? (error.stack ?? '').split('\n') : [];
  const [, path, line] = /^(?:file:\/\/)?(\/.*|[A-Za-z]:.*):(\d+)$/.exec(first) ?? [];
  if (path === undefined) return file;
  return path === file ? `${file}:${line}` : `${file} (in ${path}:${line})`;
}
