import type { Command } from 'commander';
import { type Config, countWorkers, loadConfig } from '../config.ts';
import { checkApiAddress } from '../main/api-address.ts';
import { describeStorage, openController } from '../main/controller.ts';
import { openLog } from '../main/log.ts';
import { untilToldToStop } from '../main/stop-signal.ts';
import { portNumber, wholeNumber } from './options.ts';

interface ServeOptions {
  readonly dataDir?: string;
  readonly host?: string;
  readonly port?: number;
  readonly workers?: number;
}

export function addServeCommands(program: Command): void {
  withOptions(program.command('serve'))
    .description('run Trawl on this machine: the REST API, the controller and its worker processes')
    .option('--workers <n>', 'worker processes (TRAWL_WORKERS, the number of cores)', wholeNumber)
    .addHelpText('after', SERVE_HELP)
    .action((options: ServeOptions) => serve(options, 'with-workers'));

  withOptions(program.command('controller'))
    .description('run only the REST API and the controller; start workers separately, with trawl worker')
    .addHelpText('after', CONTROLLER_HELP)
    .action((options: ServeOptions) => serve(options, 'alone'));
}

function withOptions(command: Command): Command {
  return command
    .option('--port <n>', 'port of the API (TRAWL_PORT, 8080); 0 picks a free one', portNumber)
    .option('--host <address>', 'address of the API (TRAWL_HOST, 127.0.0.1); non-loopback addresses need a key')
    .option('--data-dir <folder>', 'where the ledger and the results are kept (TRAWL_DATA_DIR, .trawl)');
}

const SERVE_HELP = `
It goes on with every job that the data directory holds (with TRAWL_BACKEND=aws: the table), and stops gracefully on
Ctrl-C or SIGTERM: workers finish or give back what they have, and no attempt is charged for it. Starting it again goes on
where it stopped.

Without a key (TRAWL_API_KEY) the API is for programs of this machine only. Its page is http://127.0.0.1:8080/docs.

Examples:
  $ trawl serve
  $ trawl serve --port 9000 --data-dir /var/lib/trawl --workers 4
  $ TRAWL_API_KEY=sha256:… trawl serve --host 0.0.0.0
  $ curl http://127.0.0.1:8080/jobs`;

const CONTROLLER_HELP = `
With TRAWL_BACKEND=aws there may be several controllers, one of which leads, and workers on any machine.

Examples, in two terminals:
  $ trawl controller --data-dir /var/lib/trawl
  $ trawl worker --data-dir /var/lib/trawl`;

async function serve(options: ServeOptions, how: 'with-workers' | 'alone'): Promise<void> {
  const config = loadConfig(options);
  checkApiAddress(config);
  const log = openLog(config);
  const stop = untilToldToStop();
  const controller = await openController(config, log);
  try {
    const url = await controller.listen();
    if (how === 'with-workers') {
      const pool = controller.startWorkers();
      pool.onChange((change) => {
        const isNews = change.kind === 'died' && !change.wasAsked;
        log[isNews ? 'warn' : 'debug']({ process: change }, `worker process ${change.kind}`);
      });
    }
    const workers = how === 'with-workers' ? countWorkers(config) : 0;
    log.info({ url, ...(await describeStorage(config)), workers, access: accessOf(config) }, 'trawl is serving');
    await stop;
    log.info('stopping: workers finish or return their items');
  } finally {
    await controller.stop();
  }
  log.info('stopped');
  // Many files may still be being removed: the next start finishes that.
  process.exit();
}

function accessOf({ apiKey }: Config): string {
  return apiKey === null ? 'this machine only: no TRAWL_API_KEY is set' : 'by key';
}
