import type { ItemInput } from '../domain/item.ts';
import type { Secrets } from '../domain/secrets.ts';
import type { Clock } from '../ports/clock.ts';
import { describeScraper, type ScraperDescription } from './describe-scraper.ts';
import type { CaseBrowsers } from './fixtures/case-browsers.ts';
import { caseFromKept, type KeptItem } from './fixtures/case-from-kept.ts';
import { hasFixture } from './fixtures/fixture-folder.ts';
import { recordCase } from './fixtures/record-case.ts';
import { showDifference } from './fixtures/show-difference.ts';
import { testScrapers } from './fixtures/test-scrapers.ts';
import { loadScrapers, type ScraperEntry } from './registry.ts';
import type { ScrapeTools } from './scraper.ts';
import { writeNewScraper } from './template/new-scraper.ts';
import { NEW_KINDS, type NewKind } from './template/scraper-template.ts';

/** The tools of a scraper, and how to close them. */
interface OpenTools {
  readonly tools: ScrapeTools;
  close(): Promise<void>;
}

export interface AuthorDeps {
  readonly clock: Clock;
  readonly openTools: () => Promise<OpenTools>;
  readonly loadSecrets: () => Secrets;
  readonly browsers: CaseBrowsers;
}

/**
 * What an author does with scrapers, without an engine: list and show them, create one, test it offline, record its
 * site.
 */
export async function openAuthorTools(
  folders: readonly string[],
  { clock, openTools, loadSecrets, browsers }: AuthorDeps,
) {
  const registry = await loadScrapers(folders);
  return {
    folders,
    /** Known from their text alone; `isLoaded` loads every file, which shows problems that the text does not. */
    async list(isLoaded: boolean): Promise<readonly ScraperEntry[]> {
      return isLoaded ? registry.check() : registry.list();
    },
    hasFixture,
    describe: (id: string): Promise<ScraperDescription | null> => describeScraper(registry, id),
    ids(): readonly string[] {
      return registry.list().flatMap((entry) => (entry.kind === 'known' ? entry.summary.id : []));
    },
    newKinds: NEW_KINDS,
    create: (asked: { id: string; folder: string; host: string; kind: NewKind }) => writeNewScraper(registry, asked),
    async *test(ids: readonly string[]) {
      try {
        yield* testScrapers(registry, ids, { clock, browsers });
      } finally {
        await browsers.close();
      }
    },
    showDifference,
    /** Null if there is no such scraper. */
    async record(
      id: string,
      asked: { name: string | null; input: ItemInput; expectFailure: boolean },
      signal: AbortSignal,
    ) {
      const scraper = await registry.find(id);
      const file = registry.fileOf(id);
      if (scraper === null || file === null) return null;
      const { tools, close } = await openTools();
      try {
        return await recordCase(scraper, file, asked, { tools, clock, signal, browsers });
      } finally {
        await browsers.close();
        await close();
      }
    },
    /** Makes a case from what a job kept of an item. Null if there is no such scraper. */
    async recordKept(id: string, kept: KeptItem, asked: { name: string | null; expectFailure: boolean }) {
      const scraper = await registry.find(id);
      const file = registry.fileOf(id);
      if (scraper === null || file === null) return null;
      try {
        return await caseFromKept(scraper, file, kept, asked, { clock, secrets: loadSecrets(), browsers });
      } finally {
        await browsers.close();
      }
    },
  };
}
