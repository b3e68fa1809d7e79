import { styleText } from 'node:util';
import type { Command } from 'commander';
import { type Config, ConfigError, loadConfig, type SettingInForce, settingsInForce } from '../config.ts';
import { inspect } from '../wiring.ts';
import {
  type Check,
  checkCores,
  checkDataDir,
  checkDns,
  checkEgress,
  checkLedger,
  checkNode,
  checkOpenFiles,
  checkResults,
  checkScrapers,
  checkSettings,
  type Parts,
} from './doctor-checks.ts';
import { EXIT } from './exit-codes.ts';
import { formatItems, printable } from './format.ts';

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('show the settings in force, and check each part of this installation')
    .option('--data-dir <folder>', 'the data directory to look at (TRAWL_DATA_DIR, .trawl)')
    .option('--create', 'with TRAWL_BACKEND=aws: make the table, the queues and the bucket that are missing')
    .option('--offline', 'leave out what needs the network')
    .option('--json', 'one JSON object on stdout')
    .addHelpText(
      'after',
      '\nExit codes: 0 no problem (warnings are none), 3 there is one.\n\nExamples:\n  $ trawl doctor\n  $ TRAWL_BACKEND=aws trawl doctor --create',
    )
    .action(doctor);
}

interface DoctorOptions {
  readonly dataDir?: string;
  readonly create?: boolean;
  readonly offline?: boolean;
  readonly json?: boolean;
}

const DNS_DEADLINE_MS = 2000;

async function doctor(options: DoctorOptions): Promise<void> {
  const config = loadConfig(options.dataDir === undefined ? {} : { dataDir: options.dataDir });
  const settings = settingsInForce(config);
  const parts = inspect(config);
  const dns = { clock: parts.clock, resolve: parts.resolveName, deadlineMs: DNS_DEADLINE_MS };
  const checks: Check[] = [
    checkNode(),
    ...checkSettings(settings),
    ...(await checkBackend(parts, config, options)),
    ...(await checkScrapers(parts)),
    ...checkEgress(parts, config),
    ...(options.offline ? [] : [await checkDns(dns)]),
    checkOpenFiles(),
    checkCores(config),
  ];
  const isWell = checks.every(({ result }) => result !== 'problem');
  const answer = options.json
    ? JSON.stringify({ ok: isWell, settings, checks }, null, 2)
    : doctorText(settings, checks);
  const code = isWell ? EXIT.done : EXIT.failed;
  // A lookup that is still under way would keep the process for as long as the system's resolver likes to try.
  process.stdout.write(`${answer}\n`, () => process.exit(code));
}

async function checkBackend(parts: Parts, config: Config, { create, offline }: DoctorOptions): Promise<Check[]> {
  const { backend, dataDir } = config;
  if (backend.kind === 'aws') {
    if (create && offline) throw new ConfigError('--create needs the network: leave --offline out');
    const found = offline ? [] : [...(await parts.aws(backend, { create: create === true }))];
    const isLocal = config.results.kind === 'local';
    return isLocal ? [...found, await checkDataDir(dataDir), await checkResults(dataDir)] : found;
  }
  if (create) {
    throw new ConfigError('--create is for TRAWL_BACKEND=aws: a data directory is made when it is needed');
  }
  return [await checkDataDir(dataDir), checkLedger(parts, dataDir), await checkResults(dataDir)];
}

const SIGNS = { ok: '✔', warning: '!', problem: '✘' } as const;
const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

export function doctorText(settings: readonly SettingInForce[], checks: readonly Check[]): string {
  const width = Math.max(...settings.map(({ name }) => name.length));
  const counted = { warning: 0, problem: 0, ok: 0 };
  for (const { result } of checks) counted[result] += 1;
  return [
    'Settings in force:',
    ...settings.map(({ name, value, from }) => `  ${name.padEnd(width)}  ${printable(value) || '(empty)'}  (${from})`),
    '',
    'Checks:',
    ...checks.flatMap(({ name, result, message, advice }) => [
      `  ${styleText(COLOURS[result], SIGNS[result])} ${name}: ${message}`,
      ...(advice === undefined ? [] : [`      → ${advice}`]),
    ]),
    '',
    counted.problem === 0
      ? `No problems, ${formatItems(counted.warning, 'warning')}.`
      : `${formatItems(counted.problem, 'problem')}, ${formatItems(counted.warning, 'warning')}.`,
  ].join('\n');
}
