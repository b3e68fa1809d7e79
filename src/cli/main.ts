import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { addDemoCommand } from './demo.ts';
import { addDoctorCommand } from './doctor.ts';
import { EXIT } from './exit-codes.ts';
import { wholeNumber } from './options.ts';
import { addRunCommand } from './run.ts';
import { addScrapersCommands } from './scrapers/commands.ts';
import { serve } from './serve.ts';
import { addVerifyCommand } from './verify.ts';
import { work } from './work.ts';

const { version, description }: { version: string; description: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

const program = new Command('trawl')
  .description(description)
  .version(version)
  .showHelpAfterError('(trawl --help tells more)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.done : EXIT.badUsage));

program
  .command('serve')
  .description('run the engine on this machine: the controller and its worker processes')
  .option('--data-dir <folder>', 'where the ledger and the results are kept (TRAWL_DATA_DIR, .trawl)')
  .option('--workers <n>', 'worker processes (TRAWL_WORKERS, the number of cores)', wholeNumber)
  .addHelpText(
    'after',
    `
It goes on with every job that the data directory holds, and stops gracefully on Ctrl-C or SIGTERM: workers finish or
give back what they have, and no attempt is charged for it. Starting it again goes on where it stopped.

Examples:
  $ trawl serve
  $ trawl serve --data-dir /var/lib/trawl --workers 4`,
  )
  .action(serve);

program
  .command('worker')
  .description('run one more worker process for the engine that owns a data directory')
  .option('--data-dir <folder>', 'the data directory of the engine (TRAWL_DATA_DIR, .trawl)')
  .option('--lane <lane>', 'http or browser', 'http')
  .addHelpText('after', '\nExample:\n  $ trawl worker --data-dir /var/lib/trawl')
  .action(work);

addDemoCommand(program);
addRunCommand(program);
addVerifyCommand(program);
addScrapersCommands(program);
addDoctorCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  const isUsage = error instanceof ConfigError;
  process.stderr.write(`trawl: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = isUsage ? EXIT.badUsage : EXIT.failed;
}
