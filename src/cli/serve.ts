import { loadConfig } from '../config.ts';
import { openEngine, openLog } from '../wiring.ts';
import { untilToldToStop } from './stop-signal.ts';

/** `trawl serve` */
export async function serve(options: { dataDir?: string; workers?: number }): Promise<void> {
  const config = loadConfig(options);
  const log = openLog(config);
  const stop = untilToldToStop();
  const engine = await openEngine(config, log);
  const pool = engine.startWorkers();
  log.info({ data_dir: config.dataDir, workers: config.workers, pid: process.pid }, 'trawl is serving');
  pool.onChange((change) => log[change.kind === 'died' ? 'warn' : 'debug'](change, `worker process ${change.kind}`));
  await stop;
  log.info('stopping: workers finish or give back what they have');
  await engine.stop();
  log.info('stopped');
}
