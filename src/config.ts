import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { delimiter, resolve } from 'node:path';
import { z } from 'zod';
import type { Lane } from './domain/lane.ts';

/**
 * The environment, read here and nowhere else, then `trawl.config.ts`, then defaults: one frozen Config. An unknown or
 * malformed setting is an error that names it and says what it may be.
 */
export interface Config {
  readonly backend: BackendConfig;
  readonly results: ResultsConfig;
  readonly dataDir: string;
  /** Where the API listens. */
  readonly host: string;
  readonly port: number;
  /** Who may use the API: keys, or `sha256:` and the hash of one, separated by commas; null for nobody but this machine. */
  readonly apiKey: string | null;
  /** The same, for those who may only read. */
  readonly readApiKey: string | null;
  /** Names under which the API is reached, beside its own address; empty for any, if there is a key. */
  readonly allowedHosts: readonly string[];
  /** The most that the body of POST /jobs, or what a packed upload is unpacked to, may have. */
  readonly maxBodyBytes: number;
  /** Where the client commands find the API. */
  readonly url: string;
  /** Folders with scrapers, beside those that come with Trawl: `./scrapers` if there is one and nothing else is said. */
  readonly scrapers: readonly string[];
  /** Runs jobs that name no scraper. */
  readonly defaultScraper: string;
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
  /** Whether numbers also go to the log, as CloudWatch reads them (`emf`). GET /metrics is there either way. */
  readonly metrics: 'prometheus' | 'emf';
  /** Private addresses that a target may have after all: `loopback`, `private`, or ranges (TRAWL_ALLOW_ADDRESSES). */
  readonly allowAddresses: string;
  /** Origins that are dialled elsewhere, `https://county.gov=http://127.0.0.1:4000` (TRAWL_ROUTES). */
  readonly routes: string;
  /** Servers that are asked for names instead of the system's: `ip` or `ip:port`, separated by commas (TRAWL_DNS_SERVERS). */
  readonly dnsServers: string;
  /** Requests that one worker process has under way at one host. */
  readonly hostConcurrency: number;
  /** Between the starts of two requests of one worker process to one host. */
  readonly hostDelayMs: number;
  /** For crash tests: at which named point this process kills itself, and how likely. Never set in production. */
  readonly faults: string;
}

/** Where jobs are kept: in the data directory of this machine, or in DynamoDB, SQS and S3. */
export type BackendConfig = { readonly kind: 'embedded' } | AwsBackendConfig;

/** Credentials, region and endpoints are not here: the SDK reads them from the environment, of child processes too. */
export interface AwsBackendConfig {
  readonly kind: 'aws';
  readonly tableName: string;
  readonly bucket: string;
  readonly queueUrls: Readonly<Record<Lane, string>>;
}

export const EMBEDDED: BackendConfig = { kind: 'embedded' };

/** Where results are kept: in the data directory, or in a bucket. By default with the rest of the backend. */
export type ResultsConfig = { readonly kind: 'local' } | { readonly kind: 's3'; readonly bucket: string };

export const LOCAL_RESULTS: ResultsConfig = { kind: 'local' };

/**
 * What differs by backend unless it is set. On AWS a renewal costs money and batches have up to a hundred items, so that
 * a lease is longer and fewer batches are enough to keep a process busy.
 */
const DEFAULTS = {
  embedded: { slots: 64, leaseMs: 4000 },
  aws: { slots: 16, leaseMs: 300_000 },
} as const satisfies Record<BackendConfig['kind'], object>;

/** Where `trawl scrapers new` writes. */
const OWN_SCRAPERS = 'scrapers';

const count = z.coerce.number().int().min(1);

/** Found in the folder in which a command is started. */
const CONFIG_FILE = 'trawl.config.ts';

const queueUrl = z
  .url({
    protocol: /^https?$/,
    error: 'must be the address of a queue: https://sqs.<region>.amazonaws.com/<account>/<name>',
  })
  .refine((url) => !url.endsWith('.fifo'), 'must be a standard queue: one that keeps the order cannot be used');

/** Read only where the backend is `aws`: names like these may be in the environment for somebody else's sake. */
const awsSchema = z.object({
  TABLE_NAME: z.string().min(1).default('scrape-state'),
  WEB_SCRAPER_QUEUE_URL: queueUrl,
  WEB_SCRAPER_BROWSER_QUEUE_URL: queueUrl.optional(),
  WEB_SCRAPER_RESULTS_BUCKET: z.string().min(1).default('scrape-results'),
});

/** Read also where only the results are in a bucket. */
const bucketSchema = awsSchema.pick({ WEB_SCRAPER_RESULTS_BUCKET: true });

const schema = z.object({
  TRAWL_RESULTS: z.enum(['local', 's3'], 'must be local or s3').optional(),
  // The name that older installations know.
  USE_LOCAL_STORAGE: z
    .stringbool({ error: 'must be true or false; TRAWL_RESULTS=local or s3 is the setting in its place' })
    .optional(),
  TRAWL_BACKEND: z.enum(['embedded', 'aws'], 'must be embedded or aws').default('embedded'),
  TRAWL_DATA_DIR: z.string().min(1).default('.trawl'),
  TRAWL_HOST: z.string().min(1).default('127.0.0.1'),
  TRAWL_PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  TRAWL_API_KEY: z.string().optional(),
  TRAWL_READ_API_KEY: z.string().optional(),
  TRAWL_ALLOWED_HOSTS: z.string().default(''),
  TRAWL_MAX_BODY_BYTES: count.min(2 ** 20).default(4 * 2 ** 30),
  TRAWL_URL: z
    .url({ protocol: /^https?$/, error: 'must be an address like http://127.0.0.1:8080' })
    .refine((url) => !/^[a-z]+:\/\/[^/]*@/i.test(url), 'must have no name and password: the key is TRAWL_API_KEY')
    .optional(),
  TRAWL_SCRAPERS: z.string().optional(),
  TRAWL_DEFAULT_SCRAPER: z.string().min(1).max(200).default('example-mock'),
  TRAWL_WORKERS: count.max(256).default(availableParallelism()),
  TRAWL_SLOTS: count.max(4096).optional(),
  TRAWL_LEASE_MS: count.min(200).max(600_000).optional(),
  TRAWL_DRAIN_GRACE_MS: z.coerce.number().int().min(0).max(600_000).default(10_000),
  TRAWL_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  TRAWL_LOG_TO: z.enum(['stdout', 'stderr']).default('stdout'),
  TRAWL_METRICS: z.enum(['prometheus', 'emf']).default('prometheus'),
  TRAWL_ALLOW_ADDRESSES: z.string().default(''),
  TRAWL_ROUTES: z.string().default(''),
  TRAWL_DNS_SERVERS: z.string().default(''),
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

export function loadConfig(
  overrides: Partial<Config> = {},
  environment: NodeJS.ProcessEnv = process.env,
  file: string = resolve(CONFIG_FILE),
): Config {
  const given = { environment, file, fromFile: settingsOfFile(file) };
  const settings = parse(schema, given);
  const backend =
    overrides.backend ?? (settings.TRAWL_BACKEND === 'aws' ? awsBackend(parse(awsSchema, given)) : EMBEDDED);
  const config: Config = {
    backend,
    results: overrides.results ?? resultsIn(settings, backend, given),
    dataDir: settings.TRAWL_DATA_DIR,
    host: settings.TRAWL_HOST,
    port: settings.TRAWL_PORT,
    apiKey: keysIn('TRAWL_API_KEY', settings.TRAWL_API_KEY),
    readApiKey: keysIn('TRAWL_READ_API_KEY', settings.TRAWL_READ_API_KEY),
    allowedHosts: listIn(settings.TRAWL_ALLOWED_HOSTS),
    maxBodyBytes: settings.TRAWL_MAX_BODY_BYTES,
    url: settings.TRAWL_URL ?? `http://127.0.0.1:${settings.TRAWL_PORT || 8080}`,
    scrapers: foldersIn(settings.TRAWL_SCRAPERS ?? (existsSync(OWN_SCRAPERS) ? resolve(OWN_SCRAPERS) : '')),
    defaultScraper: settings.TRAWL_DEFAULT_SCRAPER,
    workers: settings.TRAWL_WORKERS,
    slots: settings.TRAWL_SLOTS ?? DEFAULTS[backend.kind].slots,
    leaseMs: settings.TRAWL_LEASE_MS ?? DEFAULTS[backend.kind].leaseMs,
    drainGraceMs: settings.TRAWL_DRAIN_GRACE_MS,
    logLevel: settings.TRAWL_LOG_LEVEL,
    logTo: settings.TRAWL_LOG_TO,
    metrics: settings.TRAWL_METRICS,
    allowAddresses: settings.TRAWL_ALLOW_ADDRESSES,
    routes: settings.TRAWL_ROUTES,
    dnsServers: settings.TRAWL_DNS_SERVERS,
    hostConcurrency: settings.TRAWL_HOST_CONCURRENCY,
    hostDelayMs: settings.TRAWL_HOST_DELAY_MS,
    faults: settings.TRAWL_FAULTS,
    ...overrides,
  };
  return Object.freeze({ ...config, dataDir: resolve(config.dataDir) });
}

interface Given {
  readonly environment: NodeJS.ProcessEnv;
  readonly file: string;
  readonly fromFile: Readonly<Record<string, string>>;
}

function parse<T extends z.ZodType>(wanted: T, { environment, file, fromFile }: Given): z.infer<T> {
  const parsed = wanted.safeParse({ ...fromFile, ...environment });
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => {
    const name = path.join('.');
    const isFromFile = environment[name] === undefined && fromFile[name] !== undefined;
    return `${name}${isFromFile ? ` (from ${file})` : ''}: ${message}`;
  });
  throw new ConfigError(`there are settings that cannot be used:\n  ${lines.join('\n  ')}`);
}

function awsBackend(settings: z.infer<typeof awsSchema>): AwsBackendConfig {
  const http = settings.WEB_SCRAPER_QUEUE_URL;
  return {
    kind: 'aws',
    tableName: settings.TABLE_NAME,
    bucket: settings.WEB_SCRAPER_RESULTS_BUCKET,
    queueUrls: { http, browser: settings.WEB_SCRAPER_BROWSER_QUEUE_URL ?? `${http}-browser` },
  };
}

/** Said by its own name, by the older one, or not at all: then with the ledger. */
function resultsIn(settings: z.infer<typeof schema>, backend: BackendConfig, given: Given): ResultsConfig {
  const { TRAWL_RESULTS: wanted, USE_LOCAL_STORAGE: isLocal } = settings;
  if (wanted === 's3' && isLocal) {
    throw new ConfigError('TRAWL_RESULTS is s3 and USE_LOCAL_STORAGE is true: leave USE_LOCAL_STORAGE out');
  }
  const kind = wanted ?? (isLocal ? 'local' : backend.kind === 'aws' ? 's3' : 'local');
  if (kind === 'local') return LOCAL_RESULTS;
  const bucket = backend.kind === 'aws' ? backend.bucket : parse(bucketSchema, given).WEB_SCRAPER_RESULTS_BUCKET;
  return { kind, bucket };
}

function foldersIn(text: string): readonly string[] {
  return text.split(delimiter).filter((folder) => folder !== '');
}

function listIn(text: string): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/**
 * A list in which nothing is left counts as none, not as a key that nobody has: otherwise a server would open itself to the
 * network in the belief that it is guarded.
 */
function keysIn(name: string, text: string | undefined): string | null {
  const keys = listIn(text ?? '');
  const malformed = keys.find((key) => /^sha256:/i.test(key) && !/^sha256:[0-9a-f]{64}$/i.test(key));
  if (malformed !== undefined) {
    throw new ConfigError(`${name}: after sha256: come the 64 hexadecimal digits of the hash of a key`);
  }
  return keys.length === 0 ? null : keys.join(',');
}

/** `export default { dataDir: '/var/lib/trawl', workers: 4 }`, by the names of the environment; nothing if there is none. */
function settingsOfFile(file: string): Readonly<Record<string, string>> {
  if (!existsSync(file)) return {};
  let exported: unknown;
  try {
    exported = createRequire(import.meta.url)(file);
  } catch (error) {
    throw new ConfigError(`${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
  const given = typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : null;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ConfigError(`${file} must export its settings: export default { dataDir: '/var/lib/trawl' }`);
  }
  const known = new Map(Object.keys({ ...schema.shape, ...awsSchema.shape }).map((name) => [nameInFile(name), name]));
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, value]): [string, string][] => {
      const name = known.get(key);
      if (name === undefined) {
        throw new ConfigError(`${file}: there is no setting ${key}. There are: ${[...known.keys()].join(', ')}`);
      }
      if (value === undefined || value === null) return [];
      const separator = name === 'TRAWL_SCRAPERS' ? delimiter : ',';
      return [[name, Array.isArray(value) ? value.join(separator) : String(value)]];
    }),
  );
}

/** `TRAWL_DATA_DIR` is `dataDir` there. */
function nameInFile(name: string): string {
  return name
    .replace(/^TRAWL_/, '')
    .toLowerCase()
    .replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * The environment of a worker process, so that it comes to the same Config as its parent; but for the keys of the API,
 * which are nothing that a scraper should find.
 */
export function toEnvironment(config: Config, environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  // What the older name said is in TRAWL_RESULTS.
  const left = [...SECRETS, 'USE_LOCAL_STORAGE'];
  const others = Object.entries(environment).filter(([name]) => !left.includes(name));
  return { ...Object.fromEntries(others), ...plainSettings(config) };
}

const SECRETS: readonly string[] = ['TRAWL_API_KEY', 'TRAWL_READ_API_KEY'];

function plainSettings(config: Config): Readonly<Record<string, string>> {
  return {
    TRAWL_BACKEND: config.backend.kind,
    ...(config.backend.kind === 'aws' ? awsSettings(config.backend) : {}),
    TRAWL_RESULTS: config.results.kind,
    ...(config.results.kind === 's3' ? { WEB_SCRAPER_RESULTS_BUCKET: config.results.bucket } : {}),
    TRAWL_DATA_DIR: config.dataDir,
    TRAWL_HOST: config.host,
    TRAWL_PORT: String(config.port),
    TRAWL_ALLOWED_HOSTS: config.allowedHosts.join(','),
    TRAWL_MAX_BODY_BYTES: String(config.maxBodyBytes),
    TRAWL_URL: config.url,
    TRAWL_SCRAPERS: config.scrapers.join(delimiter),
    TRAWL_DEFAULT_SCRAPER: config.defaultScraper,
    TRAWL_WORKERS: String(config.workers),
    TRAWL_SLOTS: String(config.slots),
    TRAWL_LEASE_MS: String(config.leaseMs),
    TRAWL_DRAIN_GRACE_MS: String(config.drainGraceMs),
    TRAWL_LOG_LEVEL: config.logLevel,
    TRAWL_LOG_TO: config.logTo,
    TRAWL_METRICS: config.metrics,
    TRAWL_ALLOW_ADDRESSES: config.allowAddresses,
    TRAWL_ROUTES: config.routes,
    TRAWL_DNS_SERVERS: config.dnsServers,
    TRAWL_HOST_CONCURRENCY: String(config.hostConcurrency),
    TRAWL_HOST_DELAY_MS: String(config.hostDelayMs),
    TRAWL_FAULTS: config.faults,
  };
}

function awsSettings({ tableName, bucket, queueUrls }: AwsBackendConfig): Readonly<Record<string, string>> {
  return {
    TABLE_NAME: tableName,
    WEB_SCRAPER_QUEUE_URL: queueUrls.http,
    WEB_SCRAPER_BROWSER_QUEUE_URL: queueUrls.browser,
    WEB_SCRAPER_RESULTS_BUCKET: bucket,
  };
}

export interface Setting {
  readonly name: string;
  readonly value: string;
  readonly from: 'default' | 'environment' | 'file' | 'unknown';
}

/** What is in force, by the names of the environment, secrets hidden; and variables that look like settings and are none. */
export function settingsInForce(
  config: Config,
  environment: NodeJS.ProcessEnv = process.env,
  file: string = resolve(CONFIG_FILE),
): readonly Setting[] {
  const fromFile = settingsOfFile(file);
  const hidden = (value: string | null) => (value === null ? '' : '(set)');
  const values = {
    ...plainSettings(config),
    TRAWL_API_KEY: hidden(config.apiKey),
    TRAWL_READ_API_KEY: hidden(config.readApiKey),
  };
  const known = Object.entries(values).map(([name, value]): Setting => {
    const names = name === 'TRAWL_RESULTS' ? [name, 'USE_LOCAL_STORAGE'] : [name];
    const isIn = (place: Readonly<Record<string, string | undefined>>) =>
      names.some((each) => place[each] !== undefined);
    const from = isIn(environment) ? 'environment' : isIn(fromFile) ? 'file' : 'default';
    return { name, value, from };
  });
  const others = Object.entries(environment)
    .filter(([name]) => name.startsWith('TRAWL_') && !known.some((each) => each.name === name))
    .map(([name]): Setting => ({ name, value: '(unknown)', from: 'unknown' }));
  return [...known, ...others];
}
