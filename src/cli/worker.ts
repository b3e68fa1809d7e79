import type { Command } from 'commander';
import { ConfigError, loadConfig } from '../config.ts';
import { LANES } from '../domain/lane.ts';
import { openLog } from '../main/log.ts';
import { untilToldToStop } from '../main/stop-signal.ts';
import { runWorkerProcess } from '../main/worker.ts';

export function addWorkerCommand(program: Command): void {
  program
    .command('worker')
    .description('run one more worker process, for the engine that owns a data directory or on AWS')
    .option('--data-dir <folder>', 'the data directory of the engine (TRAWL_DATA_DIR, .trawl)')
    .option('--lane <lane>', 'http or browser', 'http')
    .addHelpText(
      'after',
      '\nExamples:\n  $ trawl worker --data-dir /var/lib/trawl\n  $ TRAWL_BACKEND=aws trawl worker --lane browser',
    )
    .action(runWorker);
}

async function runWorker(options: { dataDir?: string; lane: string }): Promise<void> {
  const lane = LANES.find((known) => known === options.lane);
  if (lane === undefined) throw new ConfigError(`--lane must be ${LANES.join(' or ')}`);
  const config = loadConfig(options.dataDir === undefined ? {} : { dataDir: options.dataDir });
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  await runWorkerProcess(config, lane, openLog(config), stop.signal);
}
