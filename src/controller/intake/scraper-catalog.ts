import type { ItemInput } from '../../domain/item.ts';
import type { Lane } from '../../domain/lane.ts';
import { suggestName } from '../../domain/near-names.ts';
import type { JobRecording, RecordedScraper, SentRecording } from '../../domain/recording/kept-recording.ts';
import type { FieldProblem } from '../../domain/schema-problems.ts';

/** What the controller knows about scrapers; it runs none of them. */
export interface ScraperCatalog {
  /** Sorted by id; those that cannot be used come last. */
  list(): Promise<readonly CatalogEntry[]>;
  /**
   * Null if there is none with that id, or none of that version. Without a version it is the current one. Rejects for one
   * that cannot be used, with the reason.
   */
  find(id: string, version?: string): Promise<CatalogScraper | null>;
  /** The scraper that a job runs: its own recording, if it has one. */
  ofJob(job: { readonly scraperId: string; readonly recording?: JobRecording }): Promise<CatalogScraper | null>;
  /** The scraper that a recording is, which has been checked. */
  ofRecording(sent: SentRecording): Promise<CatalogScraper>;
  /** The versions of a stored recording, the oldest first; empty for a scraper of a file. */
  versions(id: string): Promise<readonly RecordedScraper[]>;
  /** The file of a scraper; null if none of a file has that id. */
  fileOf(id: string): string | null;
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
  /** `api`: a recording that did not come from a file. */
  readonly source: 'file' | 'api';
  /** Null if they cannot be known without running the scraper; empty if they come with the input. */
  readonly hosts: readonly string[] | null;
}

export interface CatalogScraper extends CatalogSummary {
  readonly lane: Lane;
  /** Set for a recording that is not a file. A job gets a copy of it. */
  readonly recording: { readonly sent: SentRecording; readonly steps: number } | null;
  /** JSON Schema of an item's input. */
  readonly input: object;
  /** JSON Schema of the data; null if it extracts nothing. */
  readonly output: object | null;
  /** Whether it can parse stored pages, without the web. */
  readonly canExtract: boolean;
  /** What is wrong with an input, field by field; empty for a good one. */
  problemsOf(input: ItemInput): readonly FieldProblem[];
}
