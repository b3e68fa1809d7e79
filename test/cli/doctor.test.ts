import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { doctorText } from '../../src/cli/doctor.ts';
import {
  checkCores,
  checkDns,
  checkEgress,
  checkNode,
  checkOpenFiles,
  checkSettings,
} from '../../src/cli/doctor-checks.ts';
import { loadConfig, settingsInForce } from '../../src/config.ts';
import type { Check } from '../../src/main/check.ts';
import { checkDataDir, checkLedger } from '../../src/main/data-directory-checks.ts';
import { openStorage } from '../../src/main/embedded-owner.ts';
import { inspect } from '../../src/main/inspect.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { command, tempFolder, trawl } from './trawl.ts';

interface Answer {
  readonly ok: boolean;
  readonly settings: readonly { name: string; value: string; from: string }[];
  readonly checks: readonly Check[];
}

test('trawl doctor shows settings with their origin, and what is wrong with what to do', async () => {
  const folder = tempFolder();
  writeFileSync(
    join(folder, 'broken.ts'),
    "import { defineHttpScraper } from 'trawl/scraper';\nexport default defineHttpScraper({ id: 'broken' });\n",
  );
  const ended = await trawl(['doctor', '--json', '--offline', '--data-dir', join(folder, 'data')], {
    TRAWL_SCRAPERS: folder,
    TRAWL_ALLOW_ADDRESSES: 'loopback',
    TRAWL_API_KEY: 'hunter2',
    TRAWL_WORKRES: '3',
  });
  const answer: Answer = JSON.parse(ended.stdout);
  assert.deepEqual([ended.code, answer.ok], [3, false], ended.stdout);
  const settings = new Map(answer.settings.map(({ name, ...rest }) => [name, rest]));
  assert.deepEqual(settings.get('TRAWL_ALLOW_ADDRESSES'), { value: 'loopback', from: 'environment' });
  assert.equal(settings.get('TRAWL_SLOTS')?.from, 'default');
  assert.doesNotMatch(ended.stdout + ended.stderr, /hunter2/);
  const found = (name: string, result: Check['result']) =>
    answer.checks
      .filter((check) => check.name === name && check.result === result)
      .map(({ message }) => message)
      .join('\n');
  assert.match(found('Scrapers', 'problem'), /broken\.ts/);
  assert.match(found('Egress', 'warning'), /loopback/);
  assert.match(found('User agent', 'ok'), /placeholder address; .* set TRAWL_DOCS_USER_AGENT/);
  assert.match(found('Settings', 'warning'), /TRAWL_WORKRES/);
  assert.match(found('Data directory', 'ok'), /created when needed/);
  assert.ok(answer.checks.every(({ result, advice }) => (result === 'ok') === (advice === undefined)));
});

test('secrets are hidden, and empty ones are shown as empty', () => {
  const environment = { TRAWL_API_KEY: 'x', TRAWL_WORKERS: '2' };
  const settings = settingsInForce(loadConfig({}, environment), environment);
  const shown = (name: string) => settings.find((setting) => setting.name === name)?.value;
  assert.equal(shown('TRAWL_API_KEY'), '(hidden)');
  assert.equal(shown('TRAWL_READ_API_KEY'), '');
  assert.equal(shown('TRAWL_WORKERS'), '2');
});

test('settings say where they come from, and an unknown name is noticed', () => {
  const environment = { TRAWL_WORKERS: '7', TRAWL_NONSENSE: '1', PATH: '/bin' };
  const settings = settingsInForce(loadConfig({}, environment), environment);
  const named = (name: string) => settings.find((setting) => setting.name === name);
  assert.deepEqual(named('TRAWL_WORKERS'), { name: 'TRAWL_WORKERS', value: '7', from: 'environment' });
  assert.equal(named('TRAWL_LEASE_MS')?.from, 'default');
  assert.equal(named('PATH'), undefined);
  assert.deepEqual(
    checkSettings(settings).map(({ message }) => message),
    ['TRAWL_NONSENSE is set, but there is no such setting'],
  );
  assert.deepEqual(
    checkSettings(settingsInForce(loadConfig({}, {}), { TRAWL_WORKRES: '7' })).map(({ advice }) => advice),
    ['did you mean TRAWL_WORKERS?'],
  );
});

test('the ledger is reported as absent, idle or owned, and by which process', async () => {
  const dataDir = tempFolder();
  const config = loadConfig({ dataDir }, {});
  const look = () => checkLedger(dataDir).message;
  assert.match(look(), /none yet/);
  const storage = await openStorage(config);
  // The process that owns it must not do this: closing a second descriptor there would drop its lock.
  const { stdout } = await command(['doctor', '--offline', '--data-dir', dataDir]);
  await storage.close();
  assert.match(stdout, new RegExp(`Ledger: .*in use by process ${process.pid}`));
  assert.match(look(), /KiB; not in use/);
  assert.match(look(), /not in use/, 'looking changes nothing');
});

test('a ledger file that is not a database is a problem', async () => {
  const dataDir = tempFolder();
  writeFileSync(join(dataDir, 'ledger.db'), 'this is no database, and long enough to be looked at '.repeat(100));
  assert.equal(checkLedger(dataDir).result, 'problem');
});

test('a data directory below a file is a problem', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'file'), '');
  assert.equal((await checkDataDir(join(folder, 'file', 'data'))).result, 'problem');
  assert.equal((await checkDataDir(join(folder, 'a', 'b'))).result, 'ok');
  mkdirSync(join(folder, 'locked'));
  chmodSync(join(folder, 'locked'), 0o500);
  // Root may write anywhere.
  const expected = process.getuid?.() === 0 ? 'ok' : 'problem';
  assert.equal((await checkDataDir(join(folder, 'locked'))).result, expected);
});

test('a name service that is silent or fails causes a warning, after its deadline at the latest', async () => {
  const clock = new FakeClock();
  const silent = checkDns({ clock, resolve: () => new Promise(() => {}), deadlineMs: 2000 });
  await clock.advance(2000);
  assert.deepEqual([(await silent).result, (await silent).message], ['warning', 'no answer within 2 s']);
  const failing = await checkDns({ clock, resolve: () => Promise.reject(new Error('ENOTFOUND')), deadlineMs: 2000 });
  assert.deepEqual([failing.result, failing.message], ['warning', 'ENOTFOUND']);
  assert.equal((await checkDns({ clock, resolve: async () => [], deadlineMs: 2000 })).result, 'ok');
  assert.equal(clock.sleepers, 0);
});

test('Node, open files, processes and egress are judged by their actual values', () => {
  assert.deepEqual(
    [checkNode('26.10.0', '26.10.0'), checkNode('24.1.0', '26.10.0'), checkNode('22.9.0', null)].map(
      ({ result }) => result,
    ),
    ['ok', 'warning', 'problem'],
  );
  assert.deepEqual(
    [checkOpenFiles(256).result, checkOpenFiles(1024).result, checkOpenFiles(null).result],
    ['warning', 'ok', 'ok'],
  );
  const config = loadConfig({ workers: 9, routes: 'nonsense' }, {});
  assert.deepEqual([checkCores(config, 'items', 2).result, checkCores(config, 'items', 4).result], ['warning', 'ok']);
  assert.deepEqual(
    checkEgress(inspect(config), config).map(({ result }) => result),
    ['problem', 'ok', 'warning'],
  );
  const judged = (dnsServers: string) => {
    const named = loadConfig({ dnsServers }, {});
    return checkEgress(inspect(named), named).map(({ result, message }) => `${result}: ${message}`);
  };
  assert.deepEqual(judged('9.9.9.9'), ['ok: private addresses are refused', 'ok: names are resolved by 9.9.9.9']);
  assert.match(judged('dns.google')[0] ?? '', /^problem: TRAWL_DNS_SERVERS: dns\.google is not a DNS server/);
});

test('the text has a line per check, its advice below it, and a summary', () => {
  const text = doctorText(
    [{ name: 'TRAWL_WORKERS', value: '', from: 'default' }],
    [
      { name: 'Node', result: 'ok', message: '26' },
      { name: 'DNS', result: 'problem', message: 'gone', advice: 'get it' },
    ],
  );
  assert.match(text, /TRAWL_WORKERS {2}\(empty\) {2}\(default\)/);
  assert.match(text, /✔.* Node: 26\n.*✘.* DNS: gone\n {6}→ get it\n\n1 problem, 0 warnings\.$/);
});
