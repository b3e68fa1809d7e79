import { availableParallelism } from 'node:os';
import { delimiter, resolve } from 'node:path';
import { z } from 'zod';

/**
 * The environment, read here and nowhere else, as one frozen Config. An unknown or malformed setting is an error that
 * names it and says what it may be.
 */
export interface Config {
  readonly dataDir: string;
  /** Folders with scrapers, beside those that come with Trawl. */
  readonly scrapers: readonly string[];
  /** Worker processes of `trawl serve`. */
  readonly workers: number;
  /** Batches that one worker process carries out at the same time. */
  readonly slots: number;
  readonly leaseMs: number;
  /** How long a worker that is told to stop may go on with what it has. */
  readonly drainGraceMs: number;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** For crash tests: at which named point this process kills itself, and how likely. Never set in production. */
  readonly faults: string;
}

const count = z.coerce.number().int().min(1);

const schema = z.object({
  TRAWL_DATA_DIR: z.string().min(1).default('.trawl'),
  TRAWL_SCRAPERS: z.string().default(''),
  TRAWL_WORKERS: count.max(256).default(availableParallelism()),
  TRAWL_SLOTS: count.max(4096).default(64),
  TRAWL_LEASE_MS: count.min(200).max(600_000).default(4000),
  TRAWL_DRAIN_GRACE_MS: z.coerce.number().int().min(0).max(600_000).default(10_000),
  TRAWL_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
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
    scrapers: settings.TRAWL_SCRAPERS.split(delimiter).filter((folder) => folder !== ''),
    workers: settings.TRAWL_WORKERS,
    slots: settings.TRAWL_SLOTS,
    leaseMs: settings.TRAWL_LEASE_MS,
    drainGraceMs: settings.TRAWL_DRAIN_GRACE_MS,
    logLevel: settings.TRAWL_LOG_LEVEL,
    faults: settings.TRAWL_FAULTS,
    ...overrides,
  };
  return Object.freeze({ ...config, dataDir: resolve(config.dataDir) });
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
    TRAWL_FAULTS: config.faults,
  };
}
