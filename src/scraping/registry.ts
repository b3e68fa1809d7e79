import { basename } from 'node:path';
import { errorMessage } from '../domain/error-message.ts';
import type { Clock } from '../ports/clock.ts';
import { CodeVersions } from './code-versions.ts';
import type { ScraperSummary } from './scan-scraper.ts';
import type { Scraper } from './scraper.ts';
import { findScraperFiles } from './scraper-files.ts';
import { findLoader, type ScraperLoader, type ScraperLoaders, withoutSuffix } from './scraper-loader.ts';
import { SCRAPER_LOADERS } from './scraper-loaders.ts';

/** A scraper, or a file that should contain one and does not. */
export type ScraperEntry =
  | { readonly kind: 'known'; readonly summary: ScraperSummary; readonly file: string }
  | { readonly kind: 'broken'; readonly id: string | null; readonly file: string; readonly problem: string };

/** What a registry that looks for edited files does about one. */
export type ScraperChange =
  | { readonly kind: 'reloaded'; readonly id: string; readonly file: string; readonly version: string }
  /** The edited file cannot be used, and the previously loaded code stays in use. */
  | { readonly kind: 'kept'; readonly id: string; readonly file: string; readonly problem: string };

export interface ChangeWatch {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly onChange: (change: ScraperChange) => void;
}

/**
 * The scrapers that this process knows, by id. Most are known only by what their file says; the file is loaded when the
 * scraper is first requested, and from then on finding it is a map look-up. A registry with a `watch` checks once a
 * second, when a scraper is requested, whether its files were edited, and loads them again.
 */
export class ScraperRegistry {
  readonly #loaders: ScraperLoaders;
  readonly #watch: ChangeWatch | null;
  readonly #versions = new CodeVersions();
  readonly #ready = new Map<string, Scraper>();
  readonly #lookedAt = new Map<string, number>();
  /** Why the edited file of a scraper is not the one in use, by id. */
  readonly #problems = new Map<string, string>();
  /** Edited scrapers that are being loaded. */
  readonly #reloading = new Map<string, Promise<Scraper>>();
  readonly #entries = new Map<string, ScraperEntry & { kind: 'known' }>();
  readonly #builtIn = new Map<string, () => Promise<Scraper>>();
  readonly #broken: (ScraperEntry & { kind: 'broken' })[] = [];
  /** Every file of an id that several have. */
  readonly #doubles = new Map<string, string[]>();

  constructor(loaders: ScraperLoaders = SCRAPER_LOADERS, watch: ChangeWatch | null = null) {
    this.#loaders = loaders;
    this.#watch = watch;
  }

  add(scraper: Scraper, origin: string): void {
    const other = this.#entries.get(scraper.id);
    if (other) throw new Error(twoOf(scraper.id, [other.file, origin]));
    this.#entries.set(scraper.id, { kind: 'known', summary: summaryOf(scraper), file: origin });
    this.#ready.set(scraper.id, scraper);
  }

  /** A scraper that is part of the engine, and is loaded when it is first asked for. */
  addBuiltIn(summary: ScraperSummary, load: () => Promise<Scraper>): void {
    this.addEntry({ kind: 'known', summary, file: BUILT_IN });
    this.#builtIn.set(summary.id, load);
  }

  /**
   * A file that was scanned or could not be used. A second one with the same id makes both unusable, because it is
   * unclear which is meant.
   */
  addEntry(entry: ScraperEntry): void {
    if (entry.kind === 'broken') {
      this.#broken.push(entry);
      return;
    }
    const { id } = entry.summary;
    const other = this.#entries.get(id);
    if (other === undefined) this.#entries.set(id, entry);
    else this.#doubles.set(id, [...(this.#doubles.get(id) ?? [other.file]), entry.file]);
  }

  /**
   * Null if there is none with that id. Throws an Error that names the file if it cannot be used: it does not load, is
   * another scraper than it says, or two have the id.
   */
  async find(id: string): Promise<Scraper | null> {
    const ready = this.#ready.get(id);
    if (ready && !this.#doubles.has(id)) {
      // With the old code for some items and the new code for others, a job would be a mixture.
      return this.#reloading.get(id) ?? (this.#isTimeToLook(id) ? this.#current(id, ready) : ready);
    }
    const doubles = this.#doubles.get(id);
    if (doubles) throw new Error(twoOf(id, doubles));
    const builtIn = this.#builtIn.get(id);
    if (builtIn) {
      const scraper = await builtIn();
      this.#ready.set(id, scraper);
      return scraper;
    }
    const entry = this.#entries.get(id);
    if (entry) return this.#load(id, entry.file);
    return this.#findBroken(id);
  }

  /** Why a loaded scraper is not the one in its edited file; null if it is. */
  async problemOf(id: string): Promise<string | null> {
    if (this.#ready.has(id)) await this.find(id).catch(() => null);
    return this.#problems.get(id) ?? null;
  }

  /**
   * Throws what is wrong with the file that probably contains it, unless it has been repaired; null if there is none.
   */
  async #findBroken(id: string): Promise<Scraper | null> {
    // A file that could not even be scanned is probably the one with that name.
    const broken =
      this.#broken.find((each) => each.id === id) ?? this.#broken.find(({ file }) => this.#nameOf(file) === id);
    if (broken === undefined) return null;
    const entry = this.#isTimeToLook(broken.file)
      ? await readEntry(findLoader(this.#loaders, broken.file), broken.file)
      : null;
    if (entry?.kind !== 'known') throw new Error(entry?.problem ?? broken.problem);
    this.#broken.splice(this.#broken.indexOf(broken), 1);
    this.addEntry(entry);
    return this.find(id);
  }

  /** The file of a scraper; null if there is none with that id. */
  fileOf(id: string): string | null {
    return this.#entries.get(id)?.file ?? null;
  }

  /** By id, what is broken last. */
  list(): readonly ScraperEntry[] {
    const known = [...this.#entries.values()].filter(({ summary }) => !this.#doubles.has(summary.id));
    known.sort((a, b) => (a.summary.id < b.summary.id ? -1 : 1));
    const doubles = [...this.#doubles].map(
      ([id, files]): ScraperEntry => ({ kind: 'broken', id, file: files[0] ?? '', problem: twoOf(id, files) }),
    );
    return [...known, ...doubles, ...this.#broken];
  }

  /** The list after every file was loaded: it shows what only running the files can show. */
  async check(): Promise<readonly ScraperEntry[]> {
    return Promise.all(
      this.list().map(async (entry): Promise<ScraperEntry> => {
        if (entry.kind === 'broken') return entry;
        const { file } = entry;
        const { id } = entry.summary;
        try {
          const scraper = await this.find(id);
          return scraper === null ? entry : { kind: 'known', summary: summaryOf(scraper), file };
        } catch (error) {
          return { kind: 'broken', id, file, problem: errorMessage(error) };
        }
      }),
    );
  }

  #isTimeToLook(what: string): boolean {
    if (this.#watch === null) return false;
    const now = this.#watch.clock.elapsed();
    const last = this.#lookedAt.get(what);
    if (last !== undefined && now - last < LOOK_EVERY_MS) return false;
    this.#lookedAt.set(what, now);
    return true;
  }

  /** Differs if the code differs; null if unknown. */
  codeOf(id: string): string | null {
    const file = this.#entries.get(id)?.file ?? '';
    return findLoader(this.#loaders, file)?.codeOf(file) ?? null;
  }

  #current(id: string, ready: Scraper): Scraper | Promise<Scraper> {
    const file = this.#entries.get(id)?.file ?? '';
    if (findLoader(this.#loaders, file)?.hasChanged(file) !== true) return ready;
    const reloading = this.#reload(id, file, ready).finally(() => this.#reloading.delete(id));
    this.#reloading.set(id, reloading);
    return reloading;
  }

  async #reload(id: string, file: string, ready: Scraper): Promise<Scraper> {
    try {
      const scraper = await this.#load(id, file);
      this.#problems.delete(id);
      this.#watch?.onChange({ kind: 'reloaded', id, file, version: scraper.version });
      return scraper;
    } catch (error) {
      // An author saves unfinished files, and an editor may be halfway through writing one.
      const problem = errorMessage(error);
      this.#problems.set(id, problem);
      this.#watch?.onChange({ kind: 'kept', id, file, problem });
      return ready;
    }
  }

  /** Concurrent callers load one module: Node runs a file once. */
  async #load(id: string, file: string): Promise<Scraper> {
    const loader = findLoader(this.#loaders, file);
    const loaded = await loadOne(loader, id, file);
    const version = this.#versions.nameOf(loaded, loader?.codeOf(file) ?? null);
    const scraper = version === loaded.version ? loaded : { ...loaded, version };
    this.#ready.set(id, scraper);
    // The file may have changed since it was scanned: the list shows what is run.
    this.#entries.set(id, { kind: 'known', summary: summaryOf(scraper), file });
    return scraper;
  }

  #nameOf(file: string): string {
    return basename(withoutSuffix(this.#loaders, file));
  }
}

/** Shown instead of a file. */
const BUILT_IN = 'part of Trawl';

/** Often enough for an author who saves and runs again; a look is a file system call for each file. */
const LOOK_EVERY_MS = 1000;

/** The scrapers below these folders. Only files that cannot be understood by their text are loaded now. */
export async function loadScrapers(
  folders: readonly string[],
  loaders: ScraperLoaders = SCRAPER_LOADERS,
  watch: ChangeWatch | null = null,
): Promise<ScraperRegistry> {
  const registry = new ScraperRegistry(loaders, watch);
  const files = await findScraperFiles(folders, (name) => findLoader(loaders, name) !== null);
  for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
    const entries = await Promise.all(
      files.slice(at, at + FILES_AT_ONCE).map((file) => readEntry(findLoader(loaders, file), file)),
    );
    for (const entry of entries) if (entry !== null) registry.addEntry(entry);
  }
  return registry;
}

/** Enough to keep the disk busy, few enough for any limit of open files. */
const FILES_AT_ONCE = 64;

/** Null for a file that only serves other files. */
async function readEntry(loader: ScraperLoader | null, file: string): Promise<ScraperEntry | null> {
  try {
    const scanned = await loader?.scan(file);
    if (loader === null || scanned === undefined || scanned.kind === 'helper') return null;
    if (scanned.kind === 'scraper') return { kind: 'known', summary: scanned.summary, file };
    const scraper = await loader.load(file);
    return scraper === null ? null : { kind: 'known', summary: summaryOf(scraper), file };
  } catch (error) {
    return { kind: 'broken', id: null, file, problem: errorMessage(error) };
  }
}

async function loadOne(loader: ScraperLoader | null, id: string, file: string): Promise<Scraper> {
  const scraper = (await loader?.load(file)) ?? null;
  if (scraper === null) throw new Error(`${file} has no scraper as its default export`);
  if (scraper.id !== id) throw new Error(`${file} says that it is ${id}, but its scraper has the id ${scraper.id}`);
  return scraper;
}

function summaryOf({ id, name, version, description, kind, hosts }: Scraper): ScraperSummary {
  return { id, name, version, description, kind, hosts };
}

function twoOf(id: string, files: readonly string[]): string {
  const [first, ...others] = files;
  const count = files.length === 2 ? 'two' : String(files.length);
  return `${count} scrapers have the id ${id}: ${first} and ${others.join(' and ')}; give all but one another id`;
}
