import { existsSync, readFileSync } from 'node:fs';
import { access, constants, stat, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { type Config, countWorkers, laneConfig, type SettingInForce } from '../config.ts';
import { errorMessage } from '../domain/error-message.ts';
import { LANES } from '../domain/lane.ts';
import type { inspect } from '../wiring.ts';
import { formatBytes, formatCount, formatItems, printable } from './format.ts';

/** One thing that was looked at. What is not `ok` says what to do. */
export interface Check {
  readonly name: string;
  readonly result: 'ok' | 'warning' | 'problem';
  readonly message: string;
  readonly advice?: string;
}

export type Parts = ReturnType<typeof inspect>;

/** The oldest Node that runs our sources: it strips types, and has SQLite. */
const LEAST_NODE = 24;

export function checkNode(version = process.versions.node, pinnedVersion = readPinnedNode()): Check {
  const name = 'Node';
  if (Number(version.split('.')[0]) < LEAST_NODE) {
    return problem(name, `${version} is too old`, `run npm ci: it installs Node ${pinnedVersion ?? LEAST_NODE}`);
  }
  if (version === pinnedVersion) return ok(name, `${version}, the pinned one`);
  return warning(
    name,
    `${version}; tests run with ${pinnedVersion ?? 'a pinned one that is not installed'}`,
    'run npm ci, and start trawl by bin/trawl',
  );
}

function readPinnedNode(): string | null {
  const file = new URL('../../node_modules/node/package.json', import.meta.url);
  if (!existsSync(file)) return null;
  const { version }: { version: string } = JSON.parse(readFileSync(file, 'utf8'));
  return version;
}

const LITTLE_SPACE = 2 ** 30;
const NO_SPACE = 100 * 2 ** 20;

export async function checkDataDir(dataDir: string): Promise<Check> {
  const name = 'Data directory';
  const isThere = existsSync(dataDir);
  const folder = isThere ? dataDir : nearestFolder(dataDir);
  const advice = 'choose another by TRAWL_DATA_DIR or --data-dir, or give this user the right to write there';
  try {
    if (!(await stat(folder)).isDirectory()) return problem(name, `${folder} is no folder`, advice);
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    return problem(name, `${folder} cannot be written (${errorMessage(error)})`, advice);
  }
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const message = `${dataDir}${isThere ? '' : ' (made when it is needed)'}, ${formatBytes(free)} free`;
  if (free < NO_SPACE) return problem(name, message, 'make room: jobs pause while the disk is full');
  return free < LITTLE_SPACE ? warning(name, message, 'make room: a large job fills that soon') : ok(name, message);
}

export function checkLedger(parts: Parts, dataDir: string): Check {
  const name = 'Ledger';
  const found = parts.ledger();
  switch (found.kind) {
    case 'none':
      return ok(name, `none yet in ${dataDir}`);
    case 'idle':
      return ok(name, `${formatBytes(found.bytes)}; no process works with it`);
    case 'owned':
      return ok(name, printable(found.message, 500));
    case 'damaged':
      return problem(
        name,
        printable(found.message, 500),
        `look at ${join(dataDir, 'ledger.db')}, or restore a copy of it`,
      );
  }
}

export async function checkResults(dataDir: string): Promise<Check> {
  const name = 'Results';
  const folder = join(dataDir, 'results');
  if (!existsSync(folder)) return ok(name, 'none yet');
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok(name, folder);
  } catch (error) {
    return problem(
      name,
      `${folder} cannot be used (${errorMessage(error)})`,
      'give this user the right to read and write it',
    );
  }
}

export async function checkScrapers(parts: Parts): Promise<Check[]> {
  const name = 'Scrapers';
  const advice = 'repair the file or take it away; the other scrapers work';
  try {
    const entries = await parts.scrapers();
    const broken = entries.filter((entry) => entry.kind === 'broken');
    const found = ok(name, `${formatItems(entries.length - broken.length, 'scraper')} that can be used`);
    return [found, ...broken.map((entry) => problem(name, printable(entry.problem, 500), advice))];
  } catch (error) {
    return [problem(name, printable(errorMessage(error), 500), 'look at TRAWL_SCRAPERS')];
  }
}

export function checkEgress(parts: Parts, { allowAddresses, routes, dnsServers }: Config): Check[] {
  const checks: Check[] = [];
  const wrong = parts.egressProblem();
  if (wrong !== null) {
    checks.push(problem('Egress', printable(wrong), 'repair that setting: workers cannot start'));
  }
  if (allowAddresses === '') checks.push(ok('Egress', 'private addresses are refused'));
  else {
    const advice = 'fine for tests and the demo; with scrapers or inputs of strangers, unset TRAWL_ALLOW_ADDRESSES';
    checks.push(warning('Egress', `targets may have these private addresses: ${printable(allowAddresses)}`, advice));
  }
  if (routes !== '') {
    checks.push(
      warning('Egress', `origins dialled elsewhere: ${printable(routes)}`, 'for tests only: unset TRAWL_ROUTES'),
    );
  }
  if (dnsServers !== '') checks.push(ok('Egress', `names are looked up at ${printable(dnsServers)}`));
  return checks;
}

export interface DnsParts {
  readonly clock: { sleep(ms: number, signal?: AbortSignal): Promise<void> };
  readonly resolve: (host: string) => Promise<unknown>;
  readonly deadlineMs: number;
}

const PUBLIC_NAME = 'example.com';

/** A warning at the most: there are good reasons for a machine without a way to the world, such as a proxy. */
export async function checkDns({ clock, resolve, deadlineMs }: DnsParts): Promise<Check> {
  const name = 'DNS';
  const advice = 'without names only targets with addresses or behind a proxy can be reached';
  const done = new AbortController();
  const late = clock.sleep(deadlineMs, done.signal).then(() => 'late' as const);
  const answer = resolve(PUBLIC_NAME).then(
    () => 'found' as const,
    (error: unknown) => errorMessage(error),
  );
  const first = await Promise.race([answer, late]);
  done.abort();
  if (first === 'found') return ok(name, `${PUBLIC_NAME} has an address`);
  return warning(name, first === 'late' ? `no answer within ${deadlineMs / 1000} s` : printable(first), advice);
}

/** Sockets to targets, result files and what Node needs itself. */
const FEW_FILES = 1024;

export function checkOpenFiles(limit = openFileLimit()): Check {
  const name = 'Open files';
  if (limit === null) return ok(name, 'no limit is known');
  const message = `${formatCount(limit)} at once per process`;
  if (limit >= FEW_FILES) return ok(name, message);
  return warning(name, message, `raise it: ulimit -n ${FEW_FILES * 8}`);
}

function openFileLimit(): number | null {
  const reporter: (NodeJS.ProcessReport & { excludeNetwork?: boolean }) | undefined = process.report;
  if (reporter === undefined) return null;
  // Otherwise the report looks up the name of every address.
  reporter.excludeNetwork = true;
  const report = reporter.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(soft) ? soft : null;
}

export function checkCores(config: Config, cores = availableParallelism()): Check {
  const name = 'Workers';
  const what = config.backend.kind === 'aws' ? 'batches' : 'items';
  const workers = LANES.map((lane) => ({ lane, ...laneConfig(config, lane) }))
    .filter((each) => each.lane === 'http' || each.workers > 0)
    .map((each) => `${each.workers} of the lane ${each.lane} with ${each.slots} ${what} at once each`);
  const message = `${workers.join(', ')}, on ${formatItems(cores, 'core')}`;
  if (countWorkers(config) <= cores * 4) return ok(name, message);
  return warning(name, message, 'processes beyond the number of cores only wait for each other: lower TRAWL_WORKERS');
}

export function checkSettings(settings: readonly SettingInForce[]): Check[] {
  const unknown = settings
    .filter(({ from }) => from === 'unknown')
    .map(({ name, near = [] }) => {
      const advice = near.length === 0 ? 'look for a typing error' : `did you mean ${near.join(' or ')}?`;
      return warning('Settings', `${name} is set, and no setting has that name`, advice);
    });
  const faults = settings.find(({ name, value }) => name === 'TRAWL_FAULTS' && value !== '');
  return faults === undefined
    ? unknown
    : [
        ...unknown,
        warning('Settings', 'TRAWL_FAULTS makes processes kill themselves', 'unset it: it is for crash tests'),
      ];
}

function nearestFolder(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function ok(name: string, message: string): Check {
  return { name, result: 'ok', message };
}

function warning(name: string, message: string, advice: string): Check {
  return { name, result: 'warning', message, advice };
}

function problem(name: string, message: string, advice: string): Check {
  return { name, result: 'problem', message, advice };
}
