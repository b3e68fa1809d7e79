import type { ItemInput } from '../domain/item.ts';
import {
  currentVersion,
  type JobRecording,
  type RecordedScraper,
  type SentRecording,
} from '../domain/recording/kept-recording.ts';
import { schemaProblems } from '../domain/schema-problems.ts';
import type { Clock } from '../ports/clock.ts';
import type { KeptRecordings } from '../ports/kept-recordings.ts';
import type { RecordingBook } from '../ports/recording-book.ts';
import { jsonSchemaOf } from './describe-scraper.ts';
import { RecordingScrapers } from './recording-scrapers.ts';
import type { ScraperRegistry } from './registry.ts';
import type { Scraper } from './scraper.ts';

interface CatalogDeps {
  readonly registry: ScraperRegistry;
  readonly recordings: Pick<KeptRecordings, 'get'>;
  readonly recordingBook: Pick<RecordingBook, 'list' | 'versions'>;
  readonly clock: Pick<Clock, 'sleep'>;
}

/**
 * The scrapers as the controller knows them: their descriptions, and whether they accept an input. Those of files come
 * first: a stored recording with the id of one is not used. The shape is that of its `ScraperCatalog`.
 */
export function openCatalog({ registry, recordings, recordingBook, clock }: CatalogDeps) {
  const recorded = new RecordingScrapers({ recordings, clock });
  // A scraper is requested with every job, and its JSON Schema is always the same.
  const told = new WeakMap<Scraper, ReturnType<typeof entryOf>>();
  const entryOfScraper = (scraper: Scraper) => {
    const entry = told.get(scraper) ?? entryOf(scraper);
    told.set(scraper, entry);
    return entry;
  };
  const ofFile = async (id: string) => {
    const scraper = await registry.find(id);
    return scraper === null ? null : { ...entryOfScraper(scraper), source: 'file' as const, recording: null };
  };
  const ofRecording = async (sent: SentRecording) => {
    const scraper = await recorded.make(sent);
    return { ...entryOfScraper(scraper), source: 'api' as const, recording: { sent, steps: countSteps(sent) } };
  };
  const ofKey = async ({ key }: Pick<JobRecording, 'key'>) => {
    const sent = await recordings.get(key);
    if (sent === null) throw new Error('its recording is gone');
    return await ofRecording(sent);
  };
  const find = async (id: string, version?: string) => {
    const file = await ofFile(id);
    if (file !== null) return version === undefined || version === file.version ? file : null;
    const versions = await recordingBook.versions(id);
    const stored = version === undefined ? currentVersion(versions) : versions.find((each) => each.version === version);
    return stored === null || stored === undefined ? null : await ofKey(stored);
  };
  return {
    async list() {
      const stored = currentVersions(await recordingBook.list());
      const entries = registry.list();
      const known = entries.flatMap((entry) =>
        entry.kind === 'known' ? [{ ...entry.summary, source: 'file' as const }] : [],
      );
      const ids = new Set(entries.map((entry) => (entry.kind === 'known' ? entry.summary.id : entry.id)));
      const more = stored.filter(({ id }) => !ids.has(id)).map(summaryOf);
      const all = [...known, ...more].sort((one, other) => (one.id < other.id ? -1 : 1));
      return [
        ...all.map((summary) => ({ kind: 'known' as const, summary })),
        ...entries.flatMap((entry) =>
          entry.kind === 'broken' ? [{ kind: 'broken' as const, id: entry.id, problem: entry.problem }] : [],
        ),
      ];
    },
    find,
    ofRecording,
    async ofJob({ scraperId, recording }: { readonly scraperId: string; readonly recording?: JobRecording }) {
      return recording === undefined ? await find(scraperId) : await ofKey(recording);
    },
    versions: async (id: string) => (registry.fileOf(id) === null ? await recordingBook.versions(id) : []),
    fileOf: (id: string) => registry.fileOf(id),
    problemOf: (id: string) => registry.problemOf(id),
  };
}

function currentVersions(all: readonly RecordedScraper[]): readonly RecordedScraper[] {
  // Of one scraper, the newest comes last.
  return [...new Map(all.map((scraper) => [scraper.id, scraper])).values()];
}

function summaryOf({ id, name, version, description, hosts }: RecordedScraper) {
  return { id, name, version, description, kind: 'recording' as const, hosts, source: 'api' as const };
}

/** Of the steps that are not in others. */
function countSteps({ document }: SentRecording): number {
  const { steps } = document;
  return Array.isArray(steps) ? steps.length : 0;
}

function entryOf(scraper: Scraper) {
  const { id, name, version, description, kind, lane, hosts, output } = scraper;
  return {
    ...{ id, name, version, description, kind, lane, hosts },
    input: jsonSchemaOf(scraper.input, 'input'),
    output: output === null ? null : jsonSchemaOf(output, 'output'),
    canExtract: scraper.extract !== null,
    problemsOf: (input: ItemInput) => problemsOf(scraper, input),
  };
}

/**
 * Empty if the schema cannot be used here, because it throws or is asynchronous: the worker checks again, and reports
 * it as the item's failure.
 */
function problemsOf({ input: schema }: Scraper, input: ItemInput) {
  try {
    const parsed = schema.safeParse(input);
    return parsed.success ? [] : schemaProblems(parsed.error);
  } catch {
    return [];
  }
}
