import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type Config, countWorkers, laneConfig, type SettingInForce } from '../config.ts';
import { errorMessage } from '../domain/error-message.ts';
import { LANES } from '../domain/lane.ts';
import { type Check, ok, problem, warning } from '../main/check.ts';
import type { Inspection } from '../main/inspect.ts';
import { formatCount, formatItems, printable } from './format.ts';

/** The oldest Node that can run our sources: it strips types and includes SQLite. */
const LEAST_NODE = 24;

export function checkNode(version = process.versions.node, pinnedVersion = readPinnedNode()): Check {
  const name = 'Node';
  if (Number(version.split('.')[0]) < LEAST_NODE) {
    return problem(name, `${version} is too old`, `run npm ci: it installs Node ${pinnedVersion ?? LEAST_NODE}`);
  }
  if (version === pinnedVersion) return ok(name, `${version}, the pinned version`);
  return warning(
    name,
    `${version}; tests run with ${pinnedVersion ?? 'a pinned version that is not installed'}`,
    'run npm ci, and start Trawl with bin/trawl',
  );
}

function readPinnedNode(): string | null {
  const file = new URL('../../node_modules/node/package.json', import.meta.url);
  if (!existsSync(file)) return null;
  const { version }: { version: string } = JSON.parse(readFileSync(file, 'utf8'));
  return version;
}

export async function checkScrapers(inspection: Inspection): Promise<Check[]> {
  const name = 'Scrapers';
  const advice = 'repair or remove the file; the other scrapers work';
  try {
    const entries = await inspection.scrapers();
    const broken = entries.filter((entry) => entry.kind === 'broken');
    const found = ok(name, `${formatItems(entries.length - broken.length, 'scraper')} available`);
    return [found, ...broken.map((entry) => problem(name, printable(entry.problem, 500), advice))];
  } catch (error) {
    return [problem(name, printable(errorMessage(error), 500), 'check TRAWL_SCRAPERS')];
  }
}

export function checkUserAgent({ docsUserAgent }: Pick<Config, 'docsUserAgent'>): Check {
  const name = 'User agent';
  if (docsUserAgent !== '') return ok(name, `documentation sites see ${printable(docsUserAgent)}`);
  const advice = 'set TRAWL_DOCS_USER_AGENT to a name and an address where a site can find you';
  return ok(name, `documentation sites see a placeholder address; before you pull from them, ${advice}`);
}

export function checkEgress(inspection: Inspection, { allowAddresses, routes, dnsServers }: Config): Check[] {
  const checks: Check[] = [];
  const wrong = inspection.egressProblem();
  if (wrong !== null) {
    checks.push(problem('Egress', printable(wrong), 'correct that setting: workers cannot start with it'));
  }
  if (allowAddresses === '') checks.push(ok('Egress', 'private addresses are refused'));
  else {
    const advice =
      'fine for tests and the demo; unset TRAWL_ALLOW_ADDRESSES if you do not trust all scrapers and inputs';
    checks.push(
      warning('Egress', `scrapers may connect to these private addresses: ${printable(allowAddresses)}`, advice),
    );
  }
  if (routes !== '') {
    checks.push(
      warning('Egress', `origins dialled elsewhere: ${printable(routes)}`, 'for tests only: unset TRAWL_ROUTES'),
    );
  }
  if (dnsServers !== '') checks.push(ok('Egress', `names are resolved by ${printable(dnsServers)}`));
  return checks;
}

interface DnsDeps {
  readonly clock: { sleep(ms: number, signal?: AbortSignal): Promise<void> };
  readonly resolve: (host: string) => Promise<unknown>;
  readonly deadlineMs: number;
}

const PUBLIC_NAME = 'example.com';

/** Never more than a warning: there are good reasons for a machine without DNS, such as a proxy. */
export async function checkDns({ clock, resolve, deadlineMs }: DnsDeps): Promise<Check> {
  const name = 'DNS';
  const advice = 'without DNS, only IP addresses and targets behind a proxy can be reached';
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

/** Counts sockets to targets, result files and the files Node itself needs. */
const FEW_FILES = 1024;

export function checkOpenFiles(limit = openFileLimit()): Check {
  const name = 'Open files';
  if (limit === null) return ok(name, 'no known limit');
  const message = `${formatCount(limit)} at once per process`;
  if (limit >= FEW_FILES) return ok(name, message);
  return warning(name, message, `raise it: ulimit -n ${FEW_FILES * 8}`);
}

function openFileLimit(): number | null {
  const reporter: (NodeJS.ProcessReport & { excludeNetwork?: boolean }) | undefined = process.report;
  if (reporter === undefined) return null;
  // Without this, the report would look up the name of every address.
  reporter.excludeNetwork = true;
  const report = reporter.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(soft) ? soft : null;
}

export function checkCores(config: Config, slotUnit: 'items' | 'batches', cores = availableParallelism()): Check {
  const name = 'Workers';
  const workers = LANES.map((lane) => ({ lane, ...laneConfig(config, lane) }))
    .filter((each) => each.lane === 'http' || each.workers > 0)
    .map((each) => `${each.workers} of the lane ${each.lane} with ${each.slots} ${slotUnit} at once each`);
  const message = `${workers.join(', ')}, on ${formatItems(cores, 'core')}`;
  if (countWorkers(config) <= cores * 4) return ok(name, message);
  return warning(name, message, 'more processes than cores only wait for each other: lower TRAWL_WORKERS');
}

export function checkSettings(settings: readonly SettingInForce[]): Check[] {
  const unknown = settings
    .filter(({ from }) => from === 'unknown')
    .map(({ name, near = [] }) => {
      const advice = near.length === 0 ? 'check it for a typo' : `did you mean ${near.join(' or ')}?`;
      return warning('Settings', `${name} is set, but there is no such setting`, advice);
    });
  const faults = settings.find(({ name, value }) => name === 'TRAWL_FAULTS' && value !== '');
  return faults === undefined
    ? unknown
    : [
        ...unknown,
        warning('Settings', 'TRAWL_FAULTS makes processes kill themselves', 'unset it: it is only for crash tests'),
      ];
}
