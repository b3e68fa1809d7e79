import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { type ModuleSource, type RegisterHooksOptions, registerHooks } from 'node:module';
import { dirname, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * The code of scrapers, as Node has loaded it. Node runs a file once for each address: so an edited file, with all local
 * files that it imports, is imported again under an address with another `?edit=`. What is imported from packages and from
 * Trawl itself stays as it is. Old code is never unloaded; an edit costs some kilobytes until the process ends.
 *
 * It also makes `trawl/scraper` mean this Trawl for every file, wherever it is: an author needs neither a package nor an
 * install to write a scraper. A `.ts` file in a folder without a package, or in one that does not say, is a module.
 */
class ScraperModules {
  /** By address, with its `?edit=`. */
  readonly #files = new Map<string, LoadedFile>();
  /** The address of the last import, by path, even if it failed. */
  readonly #latest = new Map<string, string>();
  #edits = 0;
  #hooks: unknown = null;

  /** The module as its files are now: the same one while none of them has changed. */
  async import(path: string): Promise<Record<string, unknown>> {
    this.#hooks ??= registerHooks({ resolve: this.#resolve, load: this.#load });
    const known = this.#latest.get(path);
    const url = known !== undefined && !this.hasChanged(path) ? known : this.#nextAddress(path);
    this.#latest.set(path, url);
    if (!this.#files.has(url)) this.#files.set(url, newFile(path));
    return import(url);
  }

  /** Whether a file that the last import of `path` used, or lacked, is different now. False before the first. */
  hasChanged(path: string): boolean {
    return this.#partsOf(path).some(isDifferent);
  }

  /** `path` itself and every local file that its last import was made of, or lacked. */
  filesOf(path: string): readonly string[] {
    return this.#partsOf(path).map((file) => file.path);
  }

  /** Differs if the last imported code differs; null before the first import. */
  codeOf(path: string): string | null {
    const parts = this.#partsOf(path);
    if (parts.length === 0) return null;
    const from = dirname(path);
    return hash('sha256', JSON.stringify(parts.map((file) => [relative(from, file.path), file.content]).sort()));
  }

  #nextAddress(path: string): string {
    const { href } = pathToFileURL(path);
    if (!this.#latest.has(path)) return href;
    this.#edits += 1;
    return `${href}?${EDIT}${this.#edits}`;
  }

  #partsOf(path: string): readonly LoadedFile[] {
    const urls = new Set([this.#latest.get(path) ?? '']);
    // A set that grows is walked to its end.
    for (const url of urls) for (const each of this.#files.get(url)?.imports ?? []) urls.add(each);
    return [...urls].flatMap((url) => this.#files.get(url) ?? []);
  }

  readonly #resolve: NonNullable<RegisterHooksOptions['resolve']> = (specifier, context, next) => {
    if (specifier === 'trawl/scraper') return { url: AUTHORS_URL, format: 'module-typescript', shortCircuit: true };
    const parentUrl = context.parentURL ?? '';
    const importer = this.#files.get(parentUrl);
    try {
      const found = next(specifier, context);
      // Where a link leads, Node loads what is at its end.
      const entry = this.#files.get(specifier);
      if (entry !== undefined) this.#files.set(found.url, entry);
      const isUndecided = (found.format === null || found.format === undefined) && found.url.endsWith('.ts');
      const typed = isUndecided ? { ...found, format: 'module-typescript' } : found;
      if (importer === undefined || !isLocal(found.url) || context.conditions.includes('require')) return typed;
      const [, edit = ''] = parentUrl.split('?');
      const url = edit === '' ? found.url : `${found.url.split('?')[0]}?${edit}`;
      this.#addImport(importer, url);
      return { ...typed, url };
    } catch (error) {
      // The author may create the missing file, and nothing else changes then.
      if (importer !== undefined && /^\.{1,2}\//.test(specifier)) {
        this.#addImport(importer, new URL(specifier, parentUrl).href);
      }
      throw error;
    }
  };

  /** Checked before it is read: a change in between is found later, and not lost. */
  readonly #load: NonNullable<RegisterHooksOptions['load']> = (url, context, next) => {
    const file = this.#files.get(url);
    if (file === undefined) return next(url, context);
    file.stamp = stampOf(file.path);
    file.content = null;
    const loaded = next(url, context);
    if (loaded.source !== null && loaded.source !== undefined) file.content = contentHash(bytesOf(loaded.source));
    return loaded;
  };

  #addImport(importer: LoadedFile, url: string): void {
    importer.imports.add(url);
    if (!this.#files.has(url)) this.#files.set(url, newFile(fileURLToPath(url)));
  }
}

export const SCRAPER_MODULES = new ScraperModules();

const AUTHORS_URL = new URL('./author.ts', import.meta.url).href;
const OWN_SOURCES = new URL('..', import.meta.url).href;
const EDIT = 'edit=';

/** For messages: `county.ts?edit=2` is `county.ts` to its author. */
export function withoutEdit(address: string): string {
  return address.replace(/\?edit=\d+/, '');
}

interface LoadedFile {
  readonly path: string;
  readonly imports: Set<string>;
  /** Null for a file that was not there. */
  stamp: string | null;
  /** Null if it could not be read as what it is. */
  content: string | null;
}

function newFile(path: string): LoadedFile {
  return { path, imports: new Set(), stamp: stampOf(path), content: null };
}

function isLocal(url: string): boolean {
  return url.startsWith('file:') && !url.startsWith(OWN_SOURCES) && !url.includes('/node_modules/');
}

/** A file that was saved without a change, or checked out again, is not different. */
function isDifferent(file: LoadedFile): boolean {
  const stamp = stampOf(file.path);
  if (stamp === file.stamp) return false;
  if (stamp === null || file.content === null) return true;
  try {
    if (contentHash(readFileSync(file.path)) !== file.content) return true;
  } catch {
    return true;
  }
  file.stamp = stamp;
  return false;
}

function stampOf(path: string): string | null {
  const info = statSync(path, { throwIfNoEntry: false, bigint: true });
  return info === undefined ? null : `${info.ino} ${info.size} ${info.mtimeNs}`;
}

/** Node hands over a text or bytes, whichever its own loader had. */
function bytesOf(source: ModuleSource): Uint8Array {
  if (typeof source === 'string') return Buffer.from(source);
  return source instanceof Uint8Array ? source : new Uint8Array(source instanceof ArrayBuffer ? source : source.buffer);
}

function contentHash(bytes: Uint8Array): string {
  return hash('sha256', bytes);
}
