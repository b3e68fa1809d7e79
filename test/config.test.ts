import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import {
  type Config,
  ConfigError,
  countWorkers,
  EMBEDDED,
  LOCAL_RESULTS,
  laneConfig,
  loadConfig,
  loadProxySettings,
  loadSecrets,
  settingsInForce,
  toEnvironment,
} from '../src/config.ts';
import { browserSlots } from '../src/domain/browser-settings.ts';
import { etlProblem } from '../src/domain/etl-settings.ts';
import { SETTINGS, type Setting } from '../src/domain/settings.ts';
import { folderWith } from './scraping/scraper-folder.ts';

test('without settings there are defaults, and the data directory is an absolute path', () => {
  const config = loadConfig({}, {});
  assert.equal(config.dataDir, resolve('.trawl'));
  assert.equal(config.leaseMs, 4000);
  assert.deepEqual(config.scrapers, [resolve('scrapers')]);
});

test('what is given by hand outranks the environment, and the environment the defaults', () => {
  const config = loadConfig({ workers: 5 }, { TRAWL_WORKERS: '3', TRAWL_SLOTS: '7' });
  assert.deepEqual([config.workers, config.slots], [5, 7]);
});

test('a setting that cannot be used is named, with all others that cannot', () => {
  const bad = { TRAWL_WORKERS: '0', TRAWL_LOG_LEVEL: 'loud' };
  assert.throws(
    () => loadConfig({}, bad),
    (error) =>
      error instanceof ConfigError && /TRAWL_WORKERS/.test(error.message) && /TRAWL_LOG_LEVEL/.test(error.message),
  );
});

test('a worker process comes to the same settings as the process that starts it', () => {
  const config = loadConfig({ dataDir: '/somewhere', scrapers: ['/a', '/b'], leaseMs: 1234 }, {});
  assert.deepEqual(loadConfig({}, toEnvironment(config, {})), config);
});

test('a key that is blank is none, and a hash that is none is refused', () => {
  for (const blank of ['', ' ', ',', ' , ']) assert.equal(loadConfig({}, { TRAWL_API_KEY: blank }).apiKey, null, blank);
  assert.equal(loadConfig({}, { TRAWL_API_KEY: ' a , b ' }).apiKey, 'a,b');
  for (const bad of ['sha256:abc', 'good,sha256:', `sha256:${'g'.repeat(64)}`]) {
    assert.throws(() => loadConfig({}, { TRAWL_READ_API_KEY: bad }), /TRAWL_READ_API_KEY: sha256: must be followed/);
  }
});

test('an address with a password in it is refused, and not repeated', () => {
  assert.throws(
    () => loadConfig({}, { TRAWL_URL: 'http://user:secret@127.0.0.1:8080' }),
    (error) =>
      error instanceof ConfigError &&
      /TRAWL_URL: must have no name/.test(error.message) &&
      !/secret/.test(error.message),
  );
});

const QUEUE = 'https://sqs.us-east-1.amazonaws.com/123456789012/trawl';

test('on AWS there are names by default, but for the queue, without which nothing starts', () => {
  assert.deepEqual(loadConfig({}, { TRAWL_BACKEND: 'aws', WEB_SCRAPER_QUEUE_URL: QUEUE }).backend, {
    kind: 'aws',
    tableName: 'scrape-state',
    bucket: 'scrape-results',
    queueUrls: { http: QUEUE, browser: `${QUEUE}-browser` },
  });
  for (const bad of [{}, { WEB_SCRAPER_QUEUE_URL: 'trawl' }, { WEB_SCRAPER_QUEUE_URL: `${QUEUE}.fifo` }]) {
    assert.throws(
      () => loadConfig({}, { TRAWL_BACKEND: 'aws', ...bad }),
      (error) => error instanceof ConfigError && /WEB_SCRAPER_QUEUE_URL: must be /.test(error.message),
    );
  }
});

test('a lease is longer on AWS and slots are fewer, unless they are set', () => {
  const aws = { TRAWL_BACKEND: 'aws', WEB_SCRAPER_QUEUE_URL: QUEUE };
  const sizes = ({ leaseMs, slots }: Config) => [leaseMs, slots];
  assert.deepEqual(sizes(loadConfig({}, {})), [4000, 64]);
  assert.deepEqual(sizes(loadConfig({}, aws)), [300_000, 16]);
  assert.deepEqual(sizes(loadConfig({}, { ...aws, TRAWL_LEASE_MS: '5000', TRAWL_SLOTS: '3' })), [5000, 3]);
  assert.deepEqual(sizes(loadConfig({ backend: EMBEDDED }, aws)), [4000, 64], 'chosen by hand');
});

test('without the backend that needs them, settings of AWS are not looked at', () => {
  assert.deepEqual(loadConfig({}, { TABLE_NAME: '', WEB_SCRAPER_QUEUE_URL: 'nonsense' }).backend, EMBEDDED);
});

test('a worker process on AWS comes to the same settings, and finds what the SDK reads', () => {
  const queueUrls = { http: QUEUE, browser: 'http://127.0.0.1:1/queue/other' };
  const config = loadConfig({ backend: { kind: 'aws', tableName: 't', bucket: 'b', queueUrls } }, {});
  const environment = toEnvironment(config, { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1' });
  assert.deepEqual(loadConfig({}, environment), config);
  assert.deepEqual(
    [environment['AWS_REGION'], environment['AWS_ENDPOINT_URL_S3']],
    ['eu-west-1', 'http://127.0.0.1:1'],
  );
});

test('results are kept with the ledger unless something else is said, also by the older name', () => {
  const aws = { TRAWL_BACKEND: 'aws', WEB_SCRAPER_QUEUE_URL: QUEUE };
  const bucket = { WEB_SCRAPER_RESULTS_BUCKET: 'pages' };
  const resultsOf = (environment: Readonly<Record<string, string>>) => loadConfig({}, environment).results;
  assert.deepEqual(resultsOf({}), { kind: 'local' });
  assert.deepEqual(resultsOf(aws), { kind: 's3', bucket: 'scrape-results' });
  assert.deepEqual(resultsOf({ ...aws, ...bucket }), { kind: 's3', bucket: 'pages' });
  assert.deepEqual(resultsOf({ ...aws, TRAWL_RESULTS: 'local' }), { kind: 'local' });
  assert.deepEqual(resultsOf({ ...aws, USE_LOCAL_STORAGE: 'true' }), { kind: 'local' });
  assert.deepEqual(resultsOf({ ...aws, USE_LOCAL_STORAGE: 'false' }), { kind: 's3', bucket: 'scrape-results' });
  assert.deepEqual(resultsOf({ ...aws, TRAWL_RESULTS: 'local', USE_LOCAL_STORAGE: 'false' }), { kind: 'local' });
  assert.deepEqual(resultsOf({ TRAWL_RESULTS: 's3', ...bucket }), { kind: 's3', bucket: 'pages' });
  assert.deepEqual(resultsOf({ USE_LOCAL_STORAGE: 'false' }), { kind: 'local' });
});

test('settings that contradict each other about the results are refused by name', () => {
  const refused = (environment: Readonly<Record<string, string>>, said: RegExp) =>
    assert.throws(
      () => loadConfig({}, environment),
      (error) => error instanceof ConfigError && said.test(error.message),
    );
  refused({ TRAWL_RESULTS: 's3', USE_LOCAL_STORAGE: 'true' }, /TRAWL_RESULTS is s3 but USE_LOCAL_STORAGE is true/);
  refused({ TRAWL_RESULTS: 'disk' }, /TRAWL_RESULTS: must be local or s3/);
  refused({ USE_LOCAL_STORAGE: 'perhaps' }, /USE_LOCAL_STORAGE: must be true or false/);
});

test('a worker process keeps its results where its parent does', () => {
  const queueUrls = { http: QUEUE, browser: `${QUEUE}-browser` };
  const backend = { kind: 'aws', tableName: 't', bucket: 'b', queueUrls } as const;
  const configs = [
    loadConfig({ backend, results: LOCAL_RESULTS }, {}),
    loadConfig({ backend }, { USE_LOCAL_STORAGE: 'true' }),
    loadConfig({ results: { kind: 's3', bucket: 'pages' } }, {}),
  ];
  for (const config of configs) {
    assert.deepEqual(loadConfig({}, toEnvironment(config, { USE_LOCAL_STORAGE: 'true' })), config);
  }
});

const ROWS = Object.entries<Setting<unknown>>(SETTINGS);

test('every setting has a variable of its own, and a name in the file that follows from it', () => {
  const inFile = (variable: string) =>
    variable
      .replace(/^TRAWL_/, '')
      .toLowerCase()
      .replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  for (const [name, { variable }] of ROWS) assert.equal(inFile(variable), name);
  assert.equal(new Set(ROWS.map(([, { variable }]) => variable)).size, ROWS.length);
});

test('what has the name of a secret is one, and the keys of the API do not reach worker processes', () => {
  for (const [, { variable, isSecret }] of ROWS) {
    assert.equal(
      isSecret === true,
      /KEY|PASSWORD|SECRET|TOKEN|PROXY_URL|PROXY_CUSTOM|CDP_URL/.test(variable),
      variable,
    );
  }
  const keys = { TRAWL_API_KEY: 'a', TRAWL_READ_API_KEY: 'b', ETL_API_KEY: 'c' };
  const environment = toEnvironment(loadConfig({}, keys), { ...keys, PATH: '/bin' });
  for (const key of Object.keys(keys)) assert.equal(environment[key], undefined);
  assert.equal(environment['PATH'], '/bin');
});

test('secrets come from the environment and from a file, and are no part of the configuration', (t) => {
  const file = join(folderWith(t, { secrets: 'county_key=from the file\nother_key=abcdef' }), 'secrets');
  chmodSync(file, 0o600);
  const environment = { TRAWL_SECRETS_FILE: file, TRAWL_SECRET_COUNTY_KEY: 'from outside' };
  const config = loadConfig({}, environment);
  const secrets = loadSecrets(config, environment);
  assert.deepEqual(
    ['county_key', 'other_key', 'third'].map((name) => secrets.find(name)),
    ['from outside', 'abcdef', null],
  );
  assert.doesNotMatch(JSON.stringify(config), /from outside|abcdef/);
  const child = toEnvironment(config, environment);
  assert.equal(loadSecrets(loadConfig({}, child), child).find('county_key'), 'from outside');
  const shown = settingsInForce(config, environment).find(({ name }) => name === 'TRAWL_SECRET_COUNTY_KEY');
  assert.deepEqual(shown, { name: 'TRAWL_SECRET_COUNTY_KEY', value: '(hidden)', from: 'environment' });
});

test('secrets that others can read, or that cannot be used, are refused with what to do about it', (t) => {
  const folder = folderWith(t, { open: 'county_key=abcdef', wrong: 'county_key=abc' });
  const file = (name: string) => join(folder, name);
  chmodSync(file('open'), 0o640);
  chmodSync(file('wrong'), 0o600);
  const refused = (secretsFile: string, environment: NodeJS.ProcessEnv, said: RegExp) =>
    assert.throws(
      () => loadSecrets({ secretsFile }, environment),
      (error) => error instanceof ConfigError && said.test(error.message) && !/hush/.test(error.message),
    );
  refused(file('open'), {}, /open has mode 640; only its owner may read it: chmod 600 /);
  refused(file('wrong'), {}, /wrong: line 1: the value is too short/);
  refused(file('missing'), {}, /missing cannot be read/);
  refused('', { 'TRAWL_SECRET_COUNTY-KEY': 'hush-hush' }, /TRAWL_SECRET_COUNTY-KEY: the name of a secret/);
});

test('settings of AWS that cannot be used are named together with the others', () => {
  assert.throws(
    () => loadConfig({}, { TRAWL_BACKEND: 'aws', TRAWL_PORT: 'http' }),
    (error) =>
      error instanceof ConfigError &&
      /^invalid configuration:\n {2}WEB_SCRAPER_QUEUE_URL: [^\n]*\n {2}TRAWL_PORT: [^\n]*$/.test(error.message),
  );
});

test('each lane has its own worker processes and slots, those of browsers none unless they are set', () => {
  const config = loadConfig({}, { TRAWL_WORKERS: '3', TRAWL_SLOTS: '7' });
  assert.deepEqual(laneConfig(config, 'http'), { workers: 3, slots: 7 });
  assert.equal(laneConfig(config, 'browser').workers, 0);
  assert.deepEqual([browserSlots(2, 24e9), browserSlots(16, 4e9), browserSlots(1, 256e6)], [4, 6, 1]);
  assert.equal(countWorkers(config), 3);
  const both = loadConfig({}, { TRAWL_WORKERS: '3', TRAWL_BROWSER_WORKERS: '2', TRAWL_BROWSER_SLOTS: '5' });
  assert.deepEqual(laneConfig(both, 'browser'), { workers: 2, slots: 5 });
  assert.equal(countWorkers(both), 5);
});

test('settings of proxies come from the environment or the file of secrets, are hidden, and reach worker processes', (t) => {
  const folder = folderWith(t, { 'secrets.txt': 'proxy_residential_password=hunter22\ncounty_key=sesame77\n' });
  const secretsFile = join(folder, 'secrets.txt');
  chmodSync(secretsFile, 0o600);
  const environment = { PROXY_CUSTOMER: 'hl_12345', PROXY_RESIDENTIAL_ZONE: 'homes', TRAWL_SECRETS_FILE: secretsFile };
  const config = loadConfig({}, environment);
  const settings = loadProxySettings(config, environment);
  assert.deepEqual(
    [settings.proxyCustomer, settings.proxyResidentialZone, settings.proxyResidentialPassword],
    ['hl_12345', 'homes', 'hunter22'],
  );
  assert.equal(toEnvironment(config, {})['PROXY_CUSTOMER'], 'hl_12345');
  const shown = settingsInForce(config, environment, join(folder, 'none.ts'));
  assert.equal(shown.find(({ name }) => name === 'PROXY_CUSTOMER')?.value, '(hidden)');
  assert.equal(shown.find(({ name }) => name === 'PROXY_RESIDENTIAL_ZONE')?.value, 'homes');
  const secrets = loadSecrets(config, environment);
  assert.equal(secrets.find('proxy_residential_password'), null, 'not for scrapers');
  assert.equal(secrets.find('county_key'), 'sesame77');
  assert.equal(secrets.mask('hunter22 of hl_12345'), '***proxy_residential_password*** of ***proxy_customer***');
});

test('the ETL API has an address and a key: the error says what to set, and neither doctor nor logs show the key', () => {
  const endpoint = { ETL_API_ENDPOINT: 'https://etl.example.com' };
  assert.match(etlProblem(loadConfig({}, {})) ?? '', /set ETL_API_ENDPOINT to .*, and ETL_API_KEY to /);
  assert.match(etlProblem(loadConfig({}, endpoint)) ?? '', /: set ETL_API_KEY to its key$/);
  const environment = { ...endpoint, ETL_API_KEY: 'etl-secret' };
  const config = loadConfig({}, environment);
  assert.equal(etlProblem(config), null);
  assert.equal(settingsInForce(config, environment).find(({ name }) => name === 'ETL_API_KEY')?.value, '(hidden)');
  assert.equal(loadSecrets(config, {}).mask('Bearer etl-secret'), 'Bearer ***etl_api_key***');
  for (const wrong of ['etl.example.com', 'https://user:secret@etl.example.com']) {
    assert.throws(() => loadConfig({}, { ETL_API_ENDPOINT: wrong }), /ETL_API_ENDPOINT: must be an address like https/);
  }
});
