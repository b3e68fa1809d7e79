import { Readable } from 'node:stream';
import { systemClock } from '../adapters/system/clock.ts';
import { type Config, ConfigError } from '../config.ts';
import type { UrlFormat } from '../contract/bulk-request.ts';
import { runUrlSchema } from '../contract/run-requests.ts';
import { UnreadableItems } from '../controller/intake/csv-columns.ts';
import { readUrls } from '../controller/intake/read-urls.ts';
import { etlProblem } from '../domain/etl-settings.ts';
import { suggestName } from '../domain/near-names.ts';
import { chooseScraper } from '../runs/orchestrator/choose-scraper.ts';
import { RunManager } from '../runs/run-manager.ts';
import { openCatalog } from '../scraping/catalog.ts';
import { openEtl } from './runs.ts';
import { findScrapers } from './scrapers.ts';

export { EtlTrouble } from '../ports/run-service.ts';

/** The runs of the ETL API, for commands. Throws ConfigError if no such API is configured. */
export function openEtlRuns(config: Config, signal: AbortSignal, note: (text: string) => void) {
  const problem = etlProblem(config);
  if (problem !== null) throw new ConfigError(problem);
  const clock = systemClock();
  const log = { warn: (_fields: object, message: string) => note(`${message}; trying again`) };
  const etl = openEtl(config, clock, log, signal);
  const manager = new RunManager(etl, clock);
  return {
    clock,
    /** Newest first. */
    list: async (query: { readonly domain?: string; readonly status?: string; readonly limit: number }) =>
      (await etl.listScrapeRuns({ ...query, sortBy: 'startTime', sortOrder: 'desc' })).data,
    run: (runId: string) => manager.getRun(runId),
    /** Of the run that was read last. */
    stats: (runId: string) => manager.getRunStats(runId),
    finalize: (runId: string) => manager.finalizeRun(runId),
  };
}

/** The scraper that a run of the domain is carried out with. Throws ConfigError if there is none. */
export async function scraperForRun(config: Config, id: string | null, domain: string) {
  // A folder of its own has no recordings but those in files.
  const recordings = { get: async () => null };
  const recordingBook = { list: async () => [], versions: async () => [] };
  const registry = await findScrapers(config);
  const catalog = openCatalog({ registry, recordings, recordingBook, clock: systemClock() });
  const ids = (await catalog.list()).flatMap((entry) => (entry.kind === 'known' ? entry.summary.id : (entry.id ?? [])));
  if (id !== null && !ids.includes(id)) {
    throw new ConfigError(`there is no scraper ${id}; ${suggestName(id, ids, 'trawl scrapers list shows all')}`);
  }
  const chosen = await chooseScraper(catalog, id, domain);
  if ('problem' in chosen) throw new ConfigError(`${chosen.problem}${id === null ? ' (--scraper)' : ''}`);
  const { id: scraperId, lane } = chosen.scraper;
  return { id: scraperId, lane };
}

/** All URLs of a list, which `name` stands for. Throws ConfigError for an entry that is not one. */
export async function readUrlFile(name: string, bytes: Uint8Array, format: UrlFormat): Promise<readonly string[]> {
  const urls: string[] = [];
  try {
    for await (const entries of readUrls(Readable.from([bytes]), format)) {
      for (const entry of entries) {
        if ('problem' in entry) throw new ConfigError(`${name}: ${entry.problem.path}: ${entry.problem.message}`);
        const { success, error } = runUrlSchema.safeParse(entry.url);
        if (!success) throw new ConfigError(`${name}: ${entry.url.slice(0, 200)} ${error.issues[0]?.message}`);
        urls.push(entry.url);
      }
    }
  } catch (error) {
    if (error instanceof UnreadableItems) throw new ConfigError(`${name}: ${error.message}`);
    throw error;
  }
  return urls;
}
