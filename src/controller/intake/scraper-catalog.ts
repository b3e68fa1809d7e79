import type { ItemInput } from '../../domain/item.ts';
import type { Lane } from '../../domain/lane.ts';
import { suggestName } from '../../domain/near-names.ts';
import type { FieldProblem } from '../../domain/schema-problems.ts';

/** What the controller knows about scrapers; it runs none of them. */
export interface ScraperCatalog {
  /** Sorted by id; those that cannot be used come last. */
  list(): Promise<readonly CatalogEntry[]>;
  /** Null if there is none with that id. Rejects for one that cannot be used, with the reason. */
  find(id: string): Promise<CatalogScraper | null>;
  /** Why an edited scraper is still used in its earlier form; null if it is not. */
  problemOf(id: string): Promise<string | null>;
}

/** The message for an id that no scraper has. */
export async function describeUnknownScraper(catalog: Pick<ScraperCatalog, 'list'>, id: string): Promise<string> {
  const ids = (await catalog.list()).flatMap((entry) => (entry.kind === 'known' ? entry.summary.id : []));
  return `there is no scraper ${id}; ${suggestName(id, ids, 'GET /scrapers lists all')}`;
}

type CatalogEntry =
  | { readonly kind: 'known'; readonly summary: CatalogSummary }
  | { readonly kind: 'broken'; readonly id: string | null; readonly problem: string };

interface CatalogSummary {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly kind: string;
  /** Null if they cannot be known without running the scraper; empty if they come with the input. */
  readonly hosts: readonly string[] | null;
}

export interface CatalogScraper extends CatalogSummary {
  readonly lane: Lane;
  /** JSON Schema of an item's input. */
  readonly input: object;
  /** JSON Schema of the data; null if it extracts nothing. */
  readonly output: object | null;
  /** Whether it can parse stored pages, without the web. */
  readonly canExtract: boolean;
  /** What is wrong with an input, field by field; empty for a good one. */
  problemsOf(input: ItemInput): readonly FieldProblem[];
}
