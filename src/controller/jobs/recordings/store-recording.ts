import type { FieldError } from '../../../contract/problem.ts';
import type { Digest } from '../../../domain/artifact.ts';
import type { RecordedScraper, SentRecording } from '../../../domain/recording/kept-recording.ts';
import type { Recording } from '../../../domain/recording/recording.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Faults } from '../../../ports/faults.ts';
import type { KeptRecordings } from '../../../ports/kept-recordings.ts';
import type { RecordingBook } from '../../../ports/recording-book.ts';
import type { ScraperCatalog } from '../../intake/scraper-catalog.ts';

export interface StoreDeps {
  readonly recordings: KeptRecordings;
  readonly recordingBook: RecordingBook;
  readonly catalog: Pick<ScraperCatalog, 'fileOf'>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly digest: Digest;
}

export type StoreAnswer =
  | { readonly kind: 'bad'; readonly problems: readonly FieldError[] }
  | { readonly kind: 'in-file'; readonly id: string; readonly file: string }
  /** `same`: it was stored before, with the same content. */
  | { readonly kind: 'added' | 'same' | 'other-content'; readonly scraper: RecordedScraper };

/** Stops a program that makes every run a version. */
const MOST_VERSIONS = 1000;

/** Stores a recording under its id and version, as a scraper like any other. */
export async function storeRecording(deps: StoreDeps, document: unknown): Promise<StoreAnswer> {
  const { recordings, recordingBook, catalog, clock, faults, digest } = deps;
  // Loaded on demand, as for a job.
  const { readSentRecording } = await import('../../../domain/recording/read-sent.ts');
  const read = readSentRecording(document, digest);
  if (!read.ok) return { kind: 'bad', problems: read.problems };
  const { recording, sent } = read;
  const { id, version } = recording;
  const file = catalog.fileOf(id);
  if (file !== null) return { kind: 'in-file', id, file };
  const versions = await recordingBook.versions(id);
  const known = versions.find((each) => each.version === version);
  if (known !== undefined) return compare(known, sent);
  if (versions.length >= MOST_VERSIONS) {
    const message = `${id} has ${MOST_VERSIONS} versions, which is the most: use another id, or delete the scraper first`;
    return { kind: 'bad', problems: [{ path: 'version', message }] };
  }

  const key = clock.id();
  await recordings.claim({ key, holder: { kind: 'scraper', id }, at: clock.now() });
  await recordings.keep(key, sent);
  await faults.at('after-recording-before-job');
  // Clocks of two controllers may differ, and the version that was added last is the current one.
  const addedAt = Math.max(clock.now(), (versions.at(-1)?.addedAt ?? 0) + 1);
  const added = await recordingBook.add({ ...describe(recording), digest: sent.digest, key, addedAt });
  const isOurs = added.key === key;
  // What fails here is done by the sweep.
  await (isOurs ? recordings.confirm(key) : recordings.remove(key)).catch(() => {});
  return isOurs ? { kind: 'added', scraper: added } : compare(added, sent);
}

function compare(scraper: RecordedScraper, { digest }: SentRecording): StoreAnswer {
  return { kind: scraper.digest === digest ? 'same' : 'other-content', scraper };
}

function describe({ id, version, name, description, hosts }: Recording) {
  return { id, version, name, description, hosts };
}
