import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { errorMessage } from '../domain/error-message.ts';
import { EXIT } from './exit-codes.ts';

const { version, description }: { version: string; description: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

const program = new Command('trawl')
  .description(description)
  .version(version)
  .showHelpAfterError('(see trawl --help)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.done : EXIT.badUsage));

const serving = async () => (await import('./serve.ts')).addServeCommands;

/** Each command loads only what it needs: a worker does not need a server, nor a client an engine. */
const COMMANDS = new Map<string, () => Promise<(program: Command) => void>>([
  ['demo', async () => (await import('./demo.ts')).addDemoCommand],
  ['try', async () => (await import('./try/command.ts')).addTryCommand],
  ['run', async () => (await import('./run.ts')).addRunCommand],
  ['serve', serving],
  ['controller', serving],
  ['worker', async () => (await import('./worker.ts')).addWorkerCommand],
  ['jobs', async () => (await import('./jobs/commands.ts')).addJobsCommands],
  ['runs', async () => (await import('./runs/commands.ts')).addRunsCommands],
  ['hosts', async () => (await import('./hosts/commands.ts')).addHostsCommands],
  ['bulk', async () => (await import('./bulk/bulk.ts')).addBulkCommand],
  ['sites', async () => (await import('./sites/commands.ts')).addSitesCommands],
  ['cache', async () => (await import('./sites/cache-commands.ts')).addCacheCommands],
  ['errors', async () => (await import('./sites/errors-commands.ts')).addErrorsCommands],
  ['extract', async () => (await import('./extract.ts')).addExtractCommand],
  ['verify', async () => (await import('./verify.ts')).addVerifyCommand],
  ['scrapers', async () => (await import('./scrapers/commands.ts')).addScrapersCommands],
  ['recordings', async () => (await import('./recordings/commands.ts')).addRecordingsCommands],
  ['browser', async () => (await import('./browser.ts')).addBrowserCommand],
  ['doctor', async () => (await import('./doctor.ts')).addDoctorCommand],
]);

try {
  const wanted = COMMANDS.get(process.argv[2] ?? '');
  for (const load of wanted === undefined ? new Set(COMMANDS.values()) : [wanted]) (await load())(program);
  await program.parseAsync();
} catch (error) {
  const isUsage = error instanceof ConfigError;
  process.stderr.write(`trawl: ${errorMessage(error)}\n`);
  process.exitCode = isUsage ? EXIT.badUsage : EXIT.failed;
}
