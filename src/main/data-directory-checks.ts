import { existsSync } from 'node:fs';
import { access, constants, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LEDGER_FILE, RESULTS_FOLDER } from '../adapters/embedded/data-directory.ts';
import { inspectLedger } from '../adapters/embedded/ledger/inspect-ledger.ts';
import { ConfigError } from '../config.ts';
import { errorMessage } from '../domain/error-message.ts';
import { formatBytes } from '../domain/format-bytes.ts';
import { type Check, type InspectOptions, ok, problem, warning } from './check.ts';

const LITTLE_SPACE = 2 ** 30;
const NO_SPACE = 100 * 2 ** 20;

export async function inspectDataDir(dataDir: string, { create }: InspectOptions): Promise<readonly Check[]> {
  if (create) {
    throw new ConfigError('--create is for TRAWL_BACKEND=aws: a data directory is created when needed');
  }
  return [await checkDataDir(dataDir), checkLedger(dataDir)];
}

export async function checkDataDir(dataDir: string): Promise<Check> {
  const name = 'Data directory';
  const isThere = existsSync(dataDir);
  const folder = isThere ? dataDir : nearestFolder(dataDir);
  const advice = 'choose another with TRAWL_DATA_DIR or --data-dir, or give this user write permission';
  try {
    if (!(await stat(folder)).isDirectory()) return problem(name, `${folder} is not a folder`, advice);
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    return problem(name, `${folder} cannot be written (${errorMessage(error)})`, advice);
  }
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const message = `${dataDir}${isThere ? '' : ' (created when needed)'}, ${formatBytes(free)} free`;
  if (free < NO_SPACE) return problem(name, message, 'free some space: jobs pause while the disk is full');
  return free < LITTLE_SPACE
    ? warning(name, message, 'free some space: a large job would soon fill the rest')
    : ok(name, message);
}

export function checkLedger(dataDir: string): Check {
  const name = 'Ledger';
  const found = inspectLedger(dataDir);
  switch (found.kind) {
    case 'none':
      return ok(name, `none yet in ${dataDir}`);
    case 'idle':
      return ok(name, `${formatBytes(found.bytes)}; not in use`);
    case 'owned':
      return ok(name, found.message);
    case 'damaged':
      return problem(name, found.message, `look at ${join(dataDir, LEDGER_FILE)}, or restore a copy of it`);
  }
}

export async function checkResultsFolder(dataDir: string): Promise<Check> {
  const name = 'Results';
  const folder = join(dataDir, RESULTS_FOLDER);
  if (!existsSync(folder)) return ok(name, 'none yet');
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok(name, folder);
  } catch (error) {
    return problem(
      name,
      `${folder} cannot be used (${errorMessage(error)})`,
      'give this user read and write permission',
    );
  }
}

function nearestFolder(path: string): string {
  let folder = dirname(path);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
