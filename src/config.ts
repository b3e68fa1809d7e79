import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, homedir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { type BrowserSecrets, browserSecrets } from './domain/browser-settings.ts';
import { errorMessage } from './domain/error-message.ts';
import { type EtlPlaces, etlSecrets } from './domain/etl-settings.ts';
import { LANES, type Lane } from './domain/lane.ts';
import { nearNames } from './domain/near-names.ts';
import { PROXY_SETTINGS, type ProxySettings, proxySecretName, proxySecrets } from './domain/proxy-settings.ts';
import { parseSecrets, SECRET_PREFIX, SecretBook, secretProblem } from './domain/secrets.ts';
import {
  AWS_PLACES,
  type Circumstances,
  LANE_SETTINGS,
  OLDER_RESULTS,
  PLACES,
  PLAIN,
  SETTINGS,
  type Setting,
  type Values,
} from './domain/settings.ts';

/**
 * The environment, read here and nowhere else, then `trawl.config.ts`, then defaults: one frozen Config. An unknown or
 * malformed setting is an error that names it and the allowed values. The settings are in src/domain/settings.ts.
 */
export interface Config extends Values<typeof PLAIN> {
  readonly backend: BackendConfig;
  readonly results: ResultsConfig;
}

/** Where jobs are kept: in the data directory of this machine, or in DynamoDB, SQS and S3. */
export type BackendConfig = { readonly kind: 'embedded' } | AwsBackendConfig;

/** Credentials, region and endpoints are not here: the SDK reads them from the environment, also in child processes. */
export interface AwsBackendConfig {
  readonly kind: 'aws';
  readonly tableName: string;
  readonly bucket: string;
  readonly queueUrls: Readonly<Record<Lane, string>>;
}

export const EMBEDDED: BackendConfig = { kind: 'embedded' };

/** Where results are stored: in the data directory, or in a bucket. By default with the rest of the backend. */
export type ResultsConfig = { readonly kind: 'local' } | { readonly kind: 's3'; readonly bucket: string };

export const LOCAL_RESULTS: ResultsConfig = { kind: 'local' };

interface LaneConfig {
  /** Processes that `trawl serve` keeps running. */
  readonly workers: number;
  /** Batches that each of them processes concurrently. */
  readonly slots: number;
}

export function laneConfig(config: Config, lane: Lane): LaneConfig {
  const { workers, slots } = LANE_SETTINGS[lane];
  return { workers: config[workers], slots: config[slots] };
}

/** Worker processes that `trawl serve` keeps running, of all lanes. */
export function countWorkers(config: Config): number {
  return LANES.reduce((sum, lane) => sum + laneConfig(config, lane).workers, 0);
}

export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Found in the folder in which a command is started. */
const CONFIG_FILE = 'trawl.config.ts';

/** Where `trawl scrapers new` writes. */
const OWN_SCRAPERS = 'scrapers';

export function loadConfig(
  overrides: Partial<Config> = {},
  environment: NodeJS.ProcessEnv = process.env,
  file: string = resolve(CONFIG_FILE),
): Config {
  const reader = new SettingsReader(environment, file);
  const backend = overrides.backend ?? readBackend(reader);
  const results = overrides.results ?? readResults(reader, backend);
  const given: Circumstances = {
    backend: backend.kind,
    port: reader.read(PLAIN.port),
    cores: availableParallelism(),
    memoryBytes: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
    ownScrapers: existsSync(OWN_SCRAPERS) ? [resolve(OWN_SCRAPERS)] : [],
    userCache: environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'),
  };
  const plain = Object.entries<Setting<unknown>>(PLAIN).map(([key, setting]) => [key, reader.read(setting, given)]);
  reader.throwProblems();
  const config: Config = { backend, results, ...(Object.fromEntries(plain) as Values<typeof PLAIN>), ...overrides };
  return Object.freeze({ ...config, dataDir: resolve(config.dataDir) });
}

function readBackend(reader: SettingsReader): BackendConfig {
  if (reader.read(PLACES.backend) !== 'aws') return EMBEDDED;
  const http = reader.read(AWS_PLACES.webScraperQueueUrl);
  return {
    kind: 'aws',
    tableName: reader.read(AWS_PLACES.tableName),
    bucket: reader.read(AWS_PLACES.webScraperResultsBucket),
    queueUrls: { http, browser: reader.read(AWS_PLACES.webScraperBrowserQueueUrl) ?? `${http}-browser` },
  };
}

/** Chosen by its own name, by the older one, or not at all: then with the ledger. */
function readResults(reader: SettingsReader, backend: BackendConfig): ResultsConfig {
  const wanted = reader.read(PLACES.results);
  const isLocal = reader.read(OLDER_RESULTS);
  if (wanted === 's3' && isLocal) {
    throw new ConfigError('TRAWL_RESULTS is s3 but USE_LOCAL_STORAGE is true: unset USE_LOCAL_STORAGE');
  }
  const kind = wanted ?? (isLocal || backend.kind !== 'aws' ? 'local' : 's3');
  if (kind === 'local') return LOCAL_RESULTS;
  return { kind, bucket: backend.kind === 'aws' ? backend.bucket : reader.read(AWS_PLACES.webScraperResultsBucket) };
}

/** Reads settings one by one and collects what is wrong with them, so that a user sees all problems at once. */
class SettingsReader {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #file: string;
  readonly #fromFile: Readonly<Record<string, string>>;
  readonly #problems = new Set<string>();

  constructor(environment: NodeJS.ProcessEnv, file: string) {
    this.#environment = environment;
    this.#file = file;
    this.#fromFile = readFileSettings(file);
  }

  /** The result for a malformed setting must not be used: `throwProblems` is called before that. */
  read<T>({ variable, schema, fallback }: Setting<T>, given: Circumstances = ANY): T {
    const text = this.#environment[variable] ?? this.#fromFile[variable];
    if (text === undefined && fallback !== undefined) return fallback instanceof Function ? fallback(given) : fallback;
    const parsed = schema.safeParse(text);
    if (parsed.success) return parsed.data;
    const place = this.#environment[variable] === undefined && text !== undefined ? ` (from ${this.#file})` : '';
    for (const { message } of parsed.error.issues) this.#problems.add(`${variable}${place}: ${message}`);
    return undefined as T;
  }

  throwProblems(): void {
    if (this.#problems.size > 0) throw new ConfigError(`invalid configuration:\n  ${[...this.#problems].join('\n  ')}`);
  }
}

/** For settings whose defaults depend on nothing. */
const ANY: Circumstances = { backend: 'embedded', port: 0, cores: 1, memoryBytes: 4e9, ownScrapers: [], userCache: '' };

/** By the name of a setting in trawl.config.ts. */
const IN_FILE: ReadonlyMap<string, Setting<unknown>> = new Map(
  Object.entries<Setting<unknown>>({ ...SETTINGS, useLocalStorage: OLDER_RESULTS }),
);

/** `export default { dataDir: '/var/lib/trawl', workers: 4 }`, by variable; empty if there is no file. */
function readFileSettings(file: string): Readonly<Record<string, string>> {
  if (!existsSync(file)) return {};
  let exported: unknown;
  try {
    exported = createRequire(import.meta.url)(file);
  } catch (error) {
    throw new ConfigError(`${file} cannot be loaded: ${errorMessage(error)}`);
  }
  const given = typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : null;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ConfigError(`${file} must export its settings: export default { dataDir: '/var/lib/trawl' }`);
  }
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, value]): [string, string][] => {
      const setting = IN_FILE.get(key);
      if (setting === undefined) {
        throw new ConfigError(`${file}: unknown setting ${key}. Known settings: ${[...IN_FILE.keys()].join(', ')}`);
      }
      return value === undefined || value === null ? [] : [[setting.variable, toText(setting, value)]];
    }),
  );
}

function toText({ separator = ',' }: Setting<unknown>, value: unknown): string {
  return Array.isArray(value) ? value.join(separator) : String(value ?? '');
}

/** The value of each setting that applies to this configuration, by its name there. */
function valuesIn({ backend, results, ...plain }: Config): Readonly<Record<string, unknown>> {
  const values: Partial<Record<keyof typeof SETTINGS, unknown>> = {
    backend: backend.kind,
    results: results.kind,
    ...(backend.kind === 'aws' && {
      tableName: backend.tableName,
      webScraperQueueUrl: backend.queueUrls.http,
      webScraperBrowserQueueUrl: backend.queueUrls.browser,
      webScraperResultsBucket: backend.bucket,
    }),
    ...(results.kind === 's3' && { webScraperResultsBucket: results.bucket }),
    ...plain,
  };
  return values;
}

function settingsIn(config: Config): readonly { setting: Setting<unknown>; text: string }[] {
  const values = valuesIn(config);
  return Object.entries<Setting<unknown>>(SETTINGS)
    .filter(([key]) => values[key] !== undefined)
    .map(([key, setting]) => ({ setting, text: toText(setting, values[key]) }));
}

/**
 * The environment of a worker process, so that it gets the same Config as its parent, except for what is not for
 * workers: a scraper should not find the keys of the API.
 */
export function toEnvironment(config: Config, environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  // The value of the older name is in TRAWL_RESULTS.
  const left: readonly string[] = [OLDER_RESULTS, ...Object.values<Setting<unknown>>(SETTINGS).filter(isKeptBack)].map(
    ({ variable }) => variable,
  );
  const others = Object.entries(environment).filter(([variable]) => !left.includes(variable));
  const own = settingsIn(config)
    .filter(({ setting }) => !isKeptBack(setting))
    .map(({ setting, text }) => [setting.variable, text]);
  return { ...Object.fromEntries(others), ...Object.fromEntries(own) };
}

function isKeptBack({ isForWorkers }: Setting<unknown>): boolean {
  return isForWorkers === false;
}

/**
 * Secrets of scrapers: variables of the environment, and the file of `TRAWL_SECRETS_FILE`. They are not part of the
 * Config, which is shown, logged and passed on. Worker processes read them from the environment that they inherit. The
 * book also masks the credentials of proxies, remote browsers and the ETL API, and gives them to no scraper.
 */
export function loadSecrets(config: SecretsConfig, environment: NodeJS.ProcessEnv = process.env): SecretBook {
  const values = readSecrets(config, environment);
  const own = new Map([...values].filter(([name]) => !PROXY_SECRET_NAMES.has(name)));
  const others = [...proxySecrets(proxySettingsIn(config, values)), ...browserSecrets(config), ...etlSecrets(config)];
  return new SecretBook(own, new Map(others));
}

type SecretsConfig = Pick<Config, 'secretsFile'> & Partial<ProxySettings & BrowserSecrets & EtlPlaces>;

/** Addresses of proxies and our credentials: settings, or secrets by the names of these settings in lower case. */
export function loadProxySettings(
  config: Pick<Config, 'secretsFile'> & ProxySettings,
  environment: NodeJS.ProcessEnv = process.env,
): ProxySettings {
  return proxySettingsIn(config, readSecrets(config, environment));
}

const PROXY_KEYS = Object.keys(PROXY_SETTINGS) as (keyof ProxySettings)[];
const PROXY_SECRET_NAMES: ReadonlySet<string> = new Set(PROXY_KEYS.map(proxySecretName));

function proxySettingsIn(config: Partial<ProxySettings>, secrets: ReadonlyMap<string, string>): ProxySettings {
  const values = PROXY_KEYS.map((key) => [key, config[key] || (secrets.get(proxySecretName(key)) ?? '')]);
  return Object.fromEntries(values);
}

function readSecrets({ secretsFile }: Pick<Config, 'secretsFile'>, environment: NodeJS.ProcessEnv) {
  const { values, problems } = secretsFile === '' ? parseSecrets('') : readSecretsFile(secretsFile);
  const secrets = new Map(values);
  for (const [variable, value = ''] of Object.entries(environment)) {
    if (!variable.startsWith(SECRET_PREFIX)) continue;
    const name = variable.slice(SECRET_PREFIX.length).toLowerCase();
    const problem = secretProblem(name, value);
    if (problem === null) secrets.set(name, value);
    else problems.push(`${variable}: ${problem}`);
  }
  if (problems.length > 0) throw new ConfigError(`invalid secrets:\n  ${problems.join('\n  ')}`);
  return secrets;
}

/** A file that others may read is not secret. Windows has no such modes. */
const READABLE_BY_OTHERS = 0o077;

function readSecretsFile(file: string): ReturnType<typeof parseSecrets> {
  let text: string;
  try {
    const { mode } = statSync(file);
    if (process.platform !== 'win32' && (mode & READABLE_BY_OTHERS) !== 0) {
      const shown = (mode & 0o777).toString(8);
      throw new ConfigError(
        `TRAWL_SECRETS_FILE: ${file} has mode ${shown}; only its owner may read it: chmod 600 ${file}`,
      );
    }
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`TRAWL_SECRETS_FILE: ${file} cannot be read: ${errorMessage(error)}`);
  }
  const { values, problems } = parseSecrets(text);
  return { values, problems: problems.map((problem) => `${file}: ${problem}`) };
}

/** Whether a window can be opened here. */
export function hasDisplay(environment: NodeJS.ProcessEnv = process.env): boolean {
  if (process.platform === 'darwin' || process.platform === 'win32') return true;
  return [environment['DISPLAY'], environment['WAYLAND_DISPLAY']].some((display) => display);
}

export interface SettingInForce {
  readonly name: string;
  readonly value: string;
  readonly from: 'default' | 'environment' | 'file' | 'unknown';
  /** Settings that may have been meant by an unknown name. */
  readonly near?: readonly string[];
}

/**
 * The settings in force, by the names of the environment, with secrets hidden; and variables that look like settings
 * but are not.
 */
export function settingsInForce(
  config: Config,
  environment: NodeJS.ProcessEnv = process.env,
  file: string = resolve(CONFIG_FILE),
): readonly SettingInForce[] {
  const fromFile = readFileSettings(file);
  const known = settingsIn(config).map(({ setting, text }): SettingInForce => {
    const variables = setting === PLACES.results ? [OLDER_RESULTS.variable] : [];
    const isIn = (place: Readonly<Record<string, string | undefined>>) =>
      [setting.variable, ...variables].some((each) => place[each] !== undefined);
    const from = isIn(environment) ? 'environment' : isIn(fromFile) ? 'file' : 'default';
    return { name: setting.variable, value: setting.isSecret && text !== '' ? '(hidden)' : text, from };
  });
  const names = known.map(({ name }) => name);
  const others = Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !names.includes(name))
    .map((name): SettingInForce => {
      if (name.startsWith(SECRET_PREFIX)) return { name, value: '(hidden)', from: 'environment' };
      return { name, value: '(unknown)', from: 'unknown', near: nearSettings(name, names) };
    });
  return [...known, ...others];
}

/** All of these are settings, or mistaken for one. */
const PREFIX = 'TRAWL_';

function nearSettings(name: string, names: readonly string[]): readonly string[] {
  // Without the prefix, which would make all of them similar.
  const own = names.filter((each) => each.startsWith(PREFIX)).map((each) => each.slice(PREFIX.length));
  return nearNames(name.slice(PREFIX.length), own).map((near) => PREFIX + near);
}
