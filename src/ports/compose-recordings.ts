import {
  byAge,
  type RecordedScraper,
  type RecordingClaim,
  type SentRecording,
} from '../domain/recording/kept-recording.ts';
import type { KeptRecordings, WorkerRecordings } from './kept-recordings.ts';
import { everySiteRow, listSiteRows } from './list-site-rows.ts';
import type { RecordingBook } from './recording-book.ts';
import type { SiteRows } from './site-rows.ts';

/** All documents are in one group: they are found by key, and none is ever listed. */
const ALL = 'all';

function composeWorkerRecordings(documents: SiteRows<SentRecording>): WorkerRecordings {
  return {
    async get(key) {
      const [found = null] = await documents.get([{ site: ALL, name: key }]);
      return found;
    },
  };
}

export function composeKeptRecordings(
  documents: SiteRows<SentRecording>,
  claims: SiteRows<RecordingClaim>,
): KeptRecordings {
  const endClaim = (key: string) => claims.change([{ row: { site: ALL, name: key }, apply: () => null }]);
  return {
    ...composeWorkerRecordings(documents),

    async claim(claim) {
      await claims.change([{ row: { site: ALL, name: claim.key }, apply: () => claim }]);
    },

    async keep(key, recording) {
      await documents.change([{ row: { site: ALL, name: key }, apply: () => recording }]);
    },

    async confirm(key) {
      await endClaim(key);
    },

    async remove(key) {
      await documents.change([{ row: { site: ALL, name: key }, apply: () => null }]);
      await endClaim(key);
    },

    async claims(limit) {
      return (await claims.page(ALL, null, limit)).rows;
    },
  };
}

/** Versions of one scraper are one group. */
export function composeRecordingBook(rows: SiteRows<RecordedScraper>): RecordingBook {
  return {
    async list() {
      const found: RecordedScraper[] = [];
      for await (const scraper of everySiteRow(rows)) found.push(scraper);
      return found.sort((one, other) => (one.id === other.id ? byAge(one, other) : one.id < other.id ? -1 : 1));
    },

    async versions(id) {
      const found: RecordedScraper[] = [];
      let after: Awaited<ReturnType<typeof listSiteRows>>['next'] = null;
      do {
        const page: Awaited<ReturnType<typeof listSiteRows<RecordedScraper>>> = await listSiteRows(rows, {
          ...{ site: id, after, limit: VERSIONS_AT_ONCE },
        });
        found.push(...page.rows);
        after = page.next;
      } while (after !== null);
      return found.sort(byAge);
    },

    async add(scraper) {
      const [there = null] = await rows.change([{ row: rowOf(scraper), apply: (known) => known ?? scraper }]);
      return there ?? scraper;
    },

    async remove(scraper) {
      const apply = (known: RecordedScraper | null) => (known?.key === scraper.key ? null : known);
      await rows.change([{ row: rowOf(scraper), apply }]);
    },
  };
}

const VERSIONS_AT_ONCE = 500;

function rowOf({ id, version }: RecordedScraper) {
  return { site: id, name: version };
}
