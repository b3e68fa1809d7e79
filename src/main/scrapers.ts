import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { systemClock } from '../adapters/system/clock.ts';
import { type Config, ConfigError, loadSecrets } from '../config.ts';
import type { Clock } from '../ports/clock.ts';
import { type HostGate, OPEN_GATE } from '../ports/host-gate.ts';
import { addBuiltIns } from '../scraping/built-in-scrapers.ts';
import type { CaseBrowsers } from '../scraping/fixtures/case-browsers.ts';
import { loadScrapers, type ScraperChange } from '../scraping/registry.ts';
import { UNCHECKED } from '../scraping/robots/robots-check.ts';
import { NoScraperFolder } from '../scraping/scraper-files.ts';
import { SCRAPER_LOADERS } from '../scraping/scraper-loaders.ts';
import type { SharedStates } from '../scraping/shared-states.ts';
import type { OpenBrowserTools } from './browser-tools.ts';
import { egressSettings } from './egress-settings.ts';
import { openWebOnDemand } from './web-on-demand.ts';

const SHIPPED_SCRAPERS = fileURLToPath(new URL('../../scrapers', import.meta.url));

export function findScrapers(config: Config) {
  return loadScrapers(scraperFolders(config)).then(addBuiltIns, badFolder);
}

/** For a long-running process: edited files are loaded again, and the log says so. */
export function followScrapers(config: Config, clock: Clock, log: Pick<Logger, 'info' | 'warn'>) {
  const onChange = (change: ScraperChange) => {
    const about = { scraper_id: change.id, file: change.file };
    if (change.kind === 'reloaded') log.info({ ...about, version: change.version }, 'edited scraper loaded');
    else log.warn({ ...about, problem: change.problem }, 'edited scraper cannot be used; the one before it goes on');
  };
  return loadScrapers(scraperFolders(config), SCRAPER_LOADERS, { clock, onChange }).then(addBuiltIns, badFolder);
}

/**
 * The scraper with a fingerprint of its code, or the ids of the existing ones. Throws if the scraper with that id
 * cannot be used.
 */
export async function findScraper(config: Config, id: string) {
  const scrapers = await findScrapers(config);
  const others = scrapers.list().flatMap((entry) => (entry.kind === 'known' ? [entry.summary.id] : []));
  const scraper = await scrapers.find(id);
  return { scraper, others, code: scrapers.codeOf(id) };
}

/** Scrapers to list, create and try. Only a recording contacts the web, as a single visitor that need not queue. */
export async function openScrapers(config: Config) {
  const { NO_LOG } = await import('../scraping/fixtures/run-case.ts');
  const { SharedStates } = await import('../scraping/shared-states.ts');
  const { openAuthorTools } = await import('../scraping/author-tools.ts');
  const clock = systemClock();
  const openTools = async () => {
    const web = openWebOnDemand({ ...egressSettings(config), clock });
    const secrets = loadSecrets(config);
    const states = openStates(SharedStates, OPEN_GATE, clock);
    const close = async () => {
      states.close();
      await web.close();
    };
    return {
      tools: {
        web,
        gate: OPEN_GATE,
        log: NO_LOG,
        secrets,
        states,
        robots: UNCHECKED,
        browser: null,
        siteTools: null,
        allowsScripts: config.recordingScripts,
      },
      close,
    };
  };
  const parts = { clock, openTools, loadSecrets: () => loadSecrets(config), browsers: caseBrowsers(config, clock) };
  return await openAuthorTools(scraperFolders(config), parts).catch(badFolder);
}

/** Browsers of this process, for cases and trials. */
export function caseBrowsers(config: Config, clock: Clock): CaseBrowsers {
  let opened: Promise<OpenBrowserTools> | null = null;
  const open = async () =>
    (await import('./browser-tools.ts')).openBrowserTools(config, { clock, onTrouble: () => {} });
  return {
    async open() {
      opened ??= open();
      return (await opened).tools;
    },
    async close() {
      const closing = opened;
      opened = null;
      await (await closing)?.close();
    },
  };
}

/**
 * What a single visitor needs to try a scraper: access to the web under the same rules as a worker, and the host gate.
 * `onWait` is called after a host made the visitor wait.
 */
export async function openVisitorTools(config: Config, clock: Clock, onWait: (host: string, ms: number) => void) {
  const { TracedHostGate } = await import('./traced-host-gate.ts');
  const { SharedStates } = await import('../scraping/shared-states.ts');
  const settings = { ...egressSettings(config), clock };
  const politeness = { maxConcurrent: config.hostConcurrency, minDelayMs: config.hostDelayMs };
  const gate = new TracedHostGate({ clock, ...politeness }, onWait);
  const web = openWebOnDemand(settings);
  const states = openStates(SharedStates, gate, clock);
  const close = async () => {
    states.close();
    await web.close();
  };
  return { web, gate, secrets: loadSecrets(config), states, close };
}

/** The class is an argument, because commands that only list scrapers do not load it. */
function openStates(States: typeof SharedStates, gate: HostGate, clock: Clock): SharedStates {
  return new States({ gate, elapsed: () => clock.elapsed(), sleep: (ms, signal) => clock.sleep(ms, signal) });
}

/** Each once: in a checkout of Trawl itself the shipped scrapers are also `./scrapers`. */
function scraperFolders(config: Config): readonly string[] {
  return [SHIPPED_SCRAPERS, ...config.scrapers.filter((folder) => !isSameFolder(folder, SHIPPED_SCRAPERS))];
}

function isSameFolder(folder: string, other: string): boolean {
  return existsSync(folder) && realpathSync(folder) === realpathSync(other);
}

function badFolder(error: unknown): never {
  throw error instanceof NoScraperFolder ? new ConfigError(`TRAWL_SCRAPERS: ${error.message}`) : error;
}
