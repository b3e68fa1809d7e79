import { styleText } from 'node:util';
import type { Command } from 'commander';
import { loadConfig, type SettingInForce, settingsInForce } from '../config.ts';
import type { Check } from '../main/check.ts';
import { inspect } from '../main/inspect.ts';
import {
  checkCores,
  checkDns,
  checkEgress,
  checkNode,
  checkOpenFiles,
  checkScrapers,
  checkSettings,
  checkUserAgent,
} from './doctor-checks.ts';
import { EXIT } from './exit-codes.ts';
import { formatItems, printable } from './format.ts';

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('show the settings in force, and check this installation')
    .option('--data-dir <folder>', 'the data directory to check (TRAWL_DATA_DIR, .trawl)')
    .option('--create', 'with TRAWL_BACKEND=aws: create the table, queues and bucket if they are missing')
    .option('--offline', 'skip checks that need the network')
    .option('--json', 'one JSON object on stdout')
    .addHelpText(
      'after',
      '\nExit codes: 0 no problems (there may be warnings), 3 at least one problem.\n\nExamples:\n  $ trawl doctor\n  $ TRAWL_BACKEND=aws trawl doctor --create',
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
  const inspection = inspect(config);
  const { clock, resolveName } = inspection;
  const dns = { clock, resolve: resolveName, deadlineMs: DNS_DEADLINE_MS };
  const checks: Check[] = [
    checkNode(),
    ...checkSettings(settings),
    ...(await inspection.storage({ create: options.create === true, offline: options.offline === true })).map(
      asPrintable,
    ),
    ...(await checkScrapers(inspection)),
    ...checkEgress(inspection, config),
    checkUserAgent(config),
    ...(options.offline ? [] : [await checkDns(dns)]),
    ...(await inspection.proxies({ offline: options.offline === true })).map(asPrintable),
    asPrintable(await inspection.chromium()),
    checkOpenFiles(),
    checkCores(config, await inspection.slotUnit()),
  ];
  const isWell = checks.every(({ result }) => result !== 'problem');
  const answer = options.json
    ? JSON.stringify({ ok: isWell, settings, checks }, null, 2)
    : doctorText(settings, checks);
  const code = isWell ? EXIT.done : EXIT.failed;
  // A lookup still under way would keep the process alive for as long as the system's resolver retries.
  process.stdout.write(`${answer}\n`, () => process.exit(code));
}

/** Messages may quote a service or a file. */
function asPrintable(check: Check): Check {
  return { ...check, message: printable(check.message, 500) };
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
