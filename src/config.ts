import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, resolve } from 'node:path';
import { z } from 'zod';

/**
 * The environment, read here and nowhere else, as one frozen Config. An unknown or malformed setting is an error that
 * names it and says what it may be.
 */
export interface Config {
  readonly dataDir: string;
  /** Folders with scrapers, beside those that come with Trawl: `./scrapers` if there is one and nothing else is said. */
  readonly scrapers: readonly string[];
  /** Worker processes of `trawl serve`. */
  readonly workers: number;
  /** Batches that one worker process carries out at the same time. */
  readonly slots: number;
  readonly leaseMs: number;
  /** How long a worker that is told to stop may go on with what it has. */
  readonly drainGraceMs: number;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** A command whose answer goes to stdout keeps its log, and that of its workers, out of it. */
  readonly logTo: 'stdout' | 'stderr';
  /** Private addresses that a target may have after all: `loopback`, `private`, or ranges (TRAWL_ALLOW_ADDRESSES). */
  readonly allowAddresses: string;
  /** Origins that are dialled elsewhere, `https://county.gov=http://127.0.0.1:4000` (TRAWL_ROUTES). */
  readonly routes: string;
  /** Requests that one worker process has under way at one host. */
  readonly hostConcurrency: number;
  /** Between the starts of two requests of one worker process to one host. */
  readonly hostDelayMs: number;
  /** For crash tests: at which named point this process kills itself, and how likely. Never set in production. */
  readonly faults: string;
}

/** Where `trawl scrapers new` writes. */
const OWN_SCRAPERS = 'scrapers';

const count = z.coerce.number().int().min(1);

const schema = z.object({
  TRAWL_DATA_DIR: z.string().min(1).default('.trawl'),
  TRAWL_SCRAPERS: z.string().optional(),
  TRAWL_WORKERS: count.max(256).default(availableParallelism()),
  TRAWL_SLOTS: count.max(4096).default(64),
  TRAWL_LEASE_MS: count.min(200).max(600_000).default(4000),
  TRAWL_DRAIN_GRACE_MS: z.coerce.number().int().min(0).max(600_000).default(10_000),
  TRAWL_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  TRAWL_LOG_TO: z.enum(['stdout', 'stderr']).default('stdout'),
  TRAWL_ALLOW_ADDRESSES: z.string().default(''),
  TRAWL_ROUTES: z.string().default(''),
  TRAWL_HOST_CONCURRENCY: count.max(4096).default(16),
  TRAWL_HOST_DELAY_MS: z.coerce.number().int().min(0).max(3_600_000).default(0),
  TRAWL_FAULTS: z.string().default(''),
});

export class ConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigError';
  }
}

export function loadConfig(overrides: Partial<Config> = {}, environment: NodeJS.ProcessEnv = process.env): Config {
  const parsed = schema.safeParse(environment);
  if (!parsed.success) {
    const lines = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new ConfigError(`the environment has settings that cannot be used:\n  ${lines.join('\n  ')}`);
  }
  const settings = parsed.data;
  const config: Config = {
    dataDir: settings.TRAWL_DATA_DIR,
    scrapers: foldersIn(settings.TRAWL_SCRAPERS ?? (existsSync(OWN_SCRAPERS) ? resolve(OWN_SCRAPERS) : '')),
    workers: settings.TRAWL_WORKERS,
    slots: settings.TRAWL_SLOTS,
    leaseMs: settings.TRAWL_LEASE_MS,
    drainGraceMs: settings.TRAWL_DRAIN_GRACE_MS,
    logLevel: settings.TRAWL_LOG_LEVEL,
    logTo: settings.TRAWL_LOG_TO,
    allowAddresses: settings.TRAWL_ALLOW_ADDRESSES,
    routes: settings.TRAWL_ROUTES,
    hostConcurrency: settings.TRAWL_HOST_CONCURRENCY,
    hostDelayMs: settings.TRAWL_HOST_DELAY_MS,
    faults: settings.TRAWL_FAULTS,
    ...overrides,
  };
  return Object.freeze({ ...config, dataDir: resolve(config.dataDir) });
}

function foldersIn(text: string): readonly string[] {
  return text.split(delimiter).filter((folder) => folder !== '');
}

/** The environment of a worker process, so that it comes to the same Config as its parent. */
export function toEnvironment(config: Config, environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return {
    ...environment,
    TRAWL_DATA_DIR: config.dataDir,
    TRAWL_SCRAPERS: config.scrapers.join(delimiter),
    TRAWL_WORKERS: String(config.workers),
    TRAWL_SLOTS: String(config.slots),
    TRAWL_LEASE_MS: String(config.leaseMs),
    TRAWL_DRAIN_GRACE_MS: String(config.drainGraceMs),
    TRAWL_LOG_LEVEL: config.logLevel,
    TRAWL_LOG_TO: config.logTo,
    TRAWL_ALLOW_ADDRESSES: config.allowAddresses,
    TRAWL_ROUTES: config.routes,
    TRAWL_HOST_CONCURRENCY: String(config.hostConcurrency),
    TRAWL_HOST_DELAY_MS: String(config.hostDelayMs),
    TRAWL_FAULTS: config.faults,
  };
}

export interface Setting {
  readonly name: string;
  readonly value: string;
  readonly from: 'default' | 'environment' | 'unknown';
}

/** What is in force, by the names of the environment; and variables that look like settings and are none. */
export function settingsInForce(config: Config, environment: NodeJS.ProcessEnv = process.env): readonly Setting[] {
  const known = Object.entries(toEnvironment(config, {})).map(([name, value = '']): Setting => {
    return { name, value, from: environment[name] === undefined ? 'default' : 'environment' };
  });
  const others = Object.entries(environment)
    .filter(([name]) => name.startsWith('TRAWL_') && !known.some((each) => each.name === name))
    .map(([name, value = '']): Setting => ({ name, value, from: 'unknown' }));
  return [...known, ...others];
}
