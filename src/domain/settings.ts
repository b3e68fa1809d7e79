import { z } from 'zod';
import { BROWSER_SETTINGS, browserSlots } from './browser-settings.ts';
import { ETL_SETTINGS } from './etl-settings.ts';
import type { Lane } from './lane.ts';
import { PRICE_SETTINGS } from './prices.ts';
import { PROXY_SETTINGS } from './proxy-settings.ts';

/**
 * Every setting, each declared once: what is loaded (src/config.ts), what worker processes inherit, what `trawl doctor`
 * prints and the table of docs/configuration.md (`node docs/generate-settings.ts`) follow from its row.
 */
export interface Setting<T> {
  /** Name in the environment. In trawl.config.ts the setting has the name of its row. */
  readonly variable: string;
  /** Parses the text of the variable. */
  readonly schema: z.ZodType<T>;
  /** Used if it is not set. A setting without a fallback is required. */
  readonly fallback?: NoInfer<T> | ((given: Circumstances) => NoInfer<T>);
  /** One line for the documentation; `default` describes a default that is not simply the fallback. */
  readonly about: string;
  readonly byDefault?: string;
  /** `trawl doctor` only shows whether there is a value. */
  readonly isSecret?: true;
  /** False for settings that must not reach worker processes, in which scrapers run. */
  readonly isForWorkers?: false;
  /** Separates the entries of a list; a comma by default. */
  readonly separator?: string;
}

/** What defaults may depend on. */
export interface Circumstances {
  readonly backend: 'embedded' | 'aws';
  readonly port: number;
  readonly cores: number;
  /** Memory of the machine, or of the container. */
  readonly memoryBytes: number;
  /** The folder that `trawl scrapers new` writes to, if it exists. */
  readonly ownScrapers: readonly string[];
  /** The user's cache folder. */
  readonly userCache: string;
}

export type Values<Table> = { readonly [Key in keyof Table]: Table[Key] extends Setting<infer T> ? T : never };

const row = <T>(setting: Setting<T>): Setting<T> => setting;
const text = z.string();
const name = z.string().min(1);
const count = z.coerce.number().int().min(1);
const countOrNone = z.coerce.number().int().min(0);
const list = text.transform(splitList);

const queueUrl = z
  .url({
    protocol: /^https?$/,
    error: 'must be the address of a queue: https://sqs.<region>.amazonaws.com/<account>/<name>',
  })
  .refine((url) => !url.endsWith('.fifo'), 'must be a standard queue, not a FIFO queue');

/**
 * A list without entries means no key, rather than a key that matches nothing: otherwise a server would listen on the
 * network in the belief that it is protected.
 */
const keys = text
  .transform(splitList)
  .refine(
    (found) => found.every((key) => !/^sha256:/i.test(key) || /^sha256:[0-9a-f]{64}$/i.test(key)),
    'sha256: must be followed by the 64 hexadecimal digits of the hash of a key',
  )
  .transform((found) => (found.length === 0 ? null : found.join(',')));

/** Where data are stored: `backend` and `results` of the configuration are made from these and AWS_PLACES. */
export const PLACES = {
  backend: row({
    variable: 'TRAWL_BACKEND',
    schema: z.enum(['embedded', 'aws'], 'must be embedded or aws'),
    fallback: 'embedded',
    about:
      'where jobs are kept: `embedded` means the data directory of one machine, `aws` means DynamoDB, SQS and S3. `trawl run` and `trawl demo` always use the data directory',
  }),
  results: row({
    variable: 'TRAWL_RESULTS',
    schema: z.enum(['local', 's3'], 'must be local or s3').nullable(),
    fallback: null,
    byDefault: '`local`; on AWS `s3`',
    about:
      'where pages, data and manifests are kept, whatever the backend: `local` means `results/` in the data directory, `s3` the bucket. `USE_LOCAL_STORAGE=true` is the older name for `local`. With `local`, the controllers and all workers must be on one machine',
  }),
};

/** The older name of TRAWL_RESULTS. Child processes and the documentation only use the new one. */
export const OLDER_RESULTS = row({
  variable: 'USE_LOCAL_STORAGE',
  schema: z.stringbool({ error: 'must be true or false; use TRAWL_RESULTS=local or s3 instead' }).nullable(),
  fallback: null,
  about: 'the older name of TRAWL_RESULTS=local',
});

/**
 * Read only if the backend is `aws`, the bucket also if results are on S3: other programs may use variables of these
 * names.
 */
export const AWS_PLACES = {
  tableName: row({
    variable: 'TABLE_NAME',
    schema: name,
    fallback: 'scrape-state',
    about: 'on AWS: the table of jobs and items',
  }),
  webScraperQueueUrl: row({
    variable: 'WEB_SCRAPER_QUEUE_URL',
    schema: queueUrl,
    about: 'on AWS: URL of the queue for workers of the lane `http`. Required',
  }),
  webScraperBrowserQueueUrl: row({
    variable: 'WEB_SCRAPER_BROWSER_QUEUE_URL',
    schema: queueUrl.nullable(),
    fallback: null,
    byDefault: 'that of `http`, followed by `-browser`',
    about: 'on AWS: the same for the lane `browser`',
  }),
  webScraperResultsBucket: row({
    variable: 'WEB_SCRAPER_RESULTS_BUCKET',
    schema: name,
    fallback: 'scrape-results',
    about: 'with results on S3: the bucket of pages, data and manifests',
  }),
};

/** These become fields of the configuration unchanged. */
export const PLAIN = {
  dataDir: row({
    variable: 'TRAWL_DATA_DIR',
    schema: name,
    fallback: '.trawl',
    about: 'where the ledger and the results are kept; `trawl run` creates a separate folder per scraper below `run/`',
  }),
  host: row({
    variable: 'TRAWL_HOST',
    schema: name,
    fallback: '127.0.0.1',
    about:
      'address that `trawl serve` and `trawl controller` listen on; any address other than loopback requires a key',
  }),
  port: row({
    variable: 'TRAWL_PORT',
    schema: countOrNone.max(65_535),
    fallback: 8080,
    about: 'port to listen on; 0 picks a free one, which is written to the log',
  }),
  apiKey: row({
    variable: 'TRAWL_API_KEY',
    schema: keys,
    fallback: null,
    isSecret: true,
    isForWorkers: false,
    about:
      'keys with full access, separated by commas; each in plain text, or as `sha256:` followed by its hash. For the client commands, the key to send',
  }),
  readApiKey: row({
    variable: 'TRAWL_READ_API_KEY',
    schema: keys,
    fallback: null,
    isSecret: true,
    isForWorkers: false,
    about: 'read-only keys, in the same format',
  }),
  allowedHosts: row({
    variable: 'TRAWL_ALLOWED_HOSTS',
    schema: list,
    fallback: [],
    about:
      'host names that the API answers to, besides its address and the names of this machine, separated by commas. If a key is set and this is not, any name is accepted',
  }),
  url: row({
    variable: 'TRAWL_URL',
    schema: z
      .url({ protocol: /^https?$/, error: 'must be an address like http://127.0.0.1:8080' })
      .refine((url) => !/^[a-z]+:\/\/[^/]*@/i.test(url), 'must have no name and password: the key is TRAWL_API_KEY'),
    fallback: ({ port }) => `http://127.0.0.1:${port || 8080}`,
    byDefault: '`http://127.0.0.1:8080`, with the port of `TRAWL_PORT`',
    about: 'where `trawl jobs`, `trawl hosts` and `trawl extract` find the API',
  }),
  scrapers: row({
    variable: 'TRAWL_SCRAPERS',
    schema: text.transform((given): readonly string[] => given.split(':').filter((folder) => folder !== '')),
    separator: ':',
    fallback: ({ ownScrapers }) => ownScrapers,
    byDefault: '`./scrapers`, if there is one',
    about: 'folders with scrapers, in addition to those that come with Trawl, separated by `:`',
  }),
  sitesFile: row({
    variable: 'TRAWL_SITES_FILE',
    schema: text,
    fallback: '',
    byDefault: '`./sites.json`, if there is one',
    isForWorkers: false,
    about:
      'a file with configurations of documentation sites, read at the start ([documentation pulls](documentation-pulls.md#sites))',
  }),
  secretsFile: row({
    variable: 'TRAWL_SECRETS_FILE',
    schema: text,
    fallback: '',
    isSecret: true,
    about:
      'a file with secrets for scrapers, as lines `name=value` or a JSON object, readable by its owner only. A variable `TRAWL_SECRET_COUNTY_KEY` is the secret `county_key` and wins over the file ([secrets](tokens-and-secrets.md#secrets))',
  }),
  defaultScraper: row({
    variable: 'TRAWL_DEFAULT_SCRAPER',
    schema: name.max(200),
    fallback: 'example-mock',
    about: 'scraper for jobs that do not name one. The answer to `POST /jobs` says so in `warnings`',
  }),
  workers: row({
    variable: 'TRAWL_WORKERS',
    schema: count.max(256),
    fallback: ({ cores }) => cores,
    byDefault: 'number of cores',
    about: 'worker processes of `trawl serve` and `trawl run` for the lane `http`',
  }),
  slots: row({
    variable: 'TRAWL_SLOTS',
    schema: count.max(4096),
    // On AWS batches have up to a hundred items, so fewer keep a process busy.
    fallback: ({ backend }) => (backend === 'aws' ? 16 : 64),
    byDefault: '64; on AWS 16',
    about:
      'batches of one job that a worker process of the lane `http` processes concurrently. A batch is one item, on AWS up to 100 items, or what the `batching` of the job says; its items are processed one after another. All jobs together may use twice as many ([sizing](operations.md#sizing))',
  }),
  browserWorkers: row({
    variable: 'TRAWL_BROWSER_WORKERS',
    schema: countOrNone.max(256),
    fallback: 0,
    about:
      'worker processes of `trawl serve` for the lane `browser`, in addition to `TRAWL_WORKERS`. `trawl run` starts workers of the lane that its scraper needs, at least one',
  }),
  browserSlots: row({
    variable: 'TRAWL_BROWSER_SLOTS',
    schema: count.max(4096),
    fallback: ({ cores, memoryBytes }) => browserSlots(cores, memoryBytes),
    byDefault: 'two for each core, if the memory allows it',
    about: 'like `TRAWL_SLOTS`, for worker processes of the lane `browser`',
  }),
  ...BROWSER_SETTINGS,
  hostConcurrency: row({
    variable: 'TRAWL_HOST_CONCURRENCY',
    schema: count.max(4096),
    fallback: 16,
    about: 'concurrent requests to one host, across all jobs and worker processes',
  }),
  hostDelayMs: row({
    variable: 'TRAWL_HOST_DELAY_MS',
    schema: countOrNone.max(3_600_000),
    fallback: 0,
    about: 'minimum time between the starts of two requests to one host, across all jobs and worker processes',
  }),
  docsUserAgent: row({
    variable: 'TRAWL_DOCS_USER_AGENT',
    schema: text.max(300).regex(/^[\x20-\x7e]*$/, 'must be printable ASCII'),
    fallback: '',
    byDefault: '`Trawl/VERSION (+https://trawl.example/) documentation archiver`, whose address is a placeholder',
    about: 'user agent of documentation pulls: name yourself and an address where a site can find you',
  }),
  maxBodyBytes: row({
    variable: 'TRAWL_MAX_BODY_BYTES',
    schema: count.min(2 ** 20),
    fallback: 4 * 2 ** 30,
    about: 'maximum size of the body of `POST /jobs`, and of a compressed upload once it is decompressed',
  }),
  allowAddresses: row({
    variable: 'TRAWL_ALLOW_ADDRESSES',
    schema: text,
    fallback: '',
    about:
      'private addresses that scrapers may connect to: `loopback`, `private`, or ranges like `10.1.0.0/16`, separated by commas. Cloud metadata services must be listed individually',
  }),
  recordingScripts: row({
    variable: 'TRAWL_RECORDING_SCRIPTS',
    schema: z.stringbool(),
    fallback: false,
    about:
      'whether recordings may run their JavaScript expressions in the pages they visit (`waitForExpression`). Recordings are data from elsewhere, so the default is no',
  }),
  routes: row({
    variable: 'TRAWL_ROUTES',
    schema: text,
    fallback: '',
    about: 'origins whose requests are sent elsewhere: `https://county.gov=http://127.0.0.1:4000`',
  }),
  dnsServers: row({
    variable: 'TRAWL_DNS_SERVERS',
    schema: text,
    fallback: '',
    byDefault: 'those of `/etc/resolv.conf`',
    about:
      'DNS servers that resolve the names of targets: `9.9.9.9`, `10.0.0.2:5353` or `[2620:fe::fe]:53`, separated by commas',
  }),
  ...PROXY_SETTINGS,
  ...PRICE_SETTINGS,
  ...ETL_SETTINGS,
  logLevel: row({
    variable: 'TRAWL_LOG_LEVEL',
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    fallback: 'info',
    byDefault: '`info` (`warn` for `trawl run`)',
    about: '`debug`, `info`, `warn`, `error` or `silent`',
  }),
  logTo: row({
    variable: 'TRAWL_LOG_TO',
    schema: z.enum(['stdout', 'stderr']),
    fallback: 'stdout',
    byDefault: '`stdout` (`stderr` for `trawl run`)',
    about: 'where the log goes',
  }),
  metrics: row({
    variable: 'TRAWL_METRICS',
    schema: z.enum(['prometheus', 'emf']),
    fallback: 'prometheus',
    about:
      '`emf` also writes metrics to the log in the CloudWatch embedded metric format. `GET /metrics` works either way',
  }),
  leaseMs: row({
    variable: 'TRAWL_LEASE_MS',
    schema: count.min(200).max(600_000),
    // On AWS a renewal costs money.
    fallback: ({ backend }) => (backend === 'aws' ? 300_000 : 4000),
    byDefault: '4000; on AWS 300000',
    about: 'how long a worker that has gone silent keeps its batches',
  }),
  drainGraceMs: row({
    variable: 'TRAWL_DRAIN_GRACE_MS',
    schema: countOrNone.max(600_000),
    fallback: 10_000,
    about: 'how long a worker that is stopping may continue with the items it has begun',
  }),
  faults: row({
    variable: 'TRAWL_FAULTS',
    schema: text,
    fallback: '',
    about: 'only for tests of Trawl itself: the point at which a process kills itself. Never set it',
  }),
};

/** In the order of the documentation. */
export const SETTINGS = { ...PLACES, ...AWS_PLACES, ...PLAIN } as const satisfies Record<string, Setting<unknown>>;

/** Each lane has its own processes and slots: a browser takes a hundred times the memory of a request. */
export const LANE_SETTINGS = {
  http: { workers: 'workers', slots: 'slots' },
  browser: { workers: 'browserWorkers', slots: 'browserSlots' },
} as const satisfies Record<Lane, { workers: keyof typeof PLAIN; slots: keyof typeof PLAIN }>;

function splitList(text: string): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
