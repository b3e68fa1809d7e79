import { ConfigError, loadConfig } from '../config.ts';
import { LANES } from '../domain/lane.ts';
import { openLog, runWorkerProcess } from '../wiring.ts';
import { untilToldToStop } from './stop-signal.ts';

/** `trawl worker`, by hand or as a child of `trawl serve`. */
export async function work(options: { dataDir?: string; lane: string }): Promise<void> {
  const lane = LANES.find((known) => known === options.lane);
  if (lane === undefined) throw new ConfigError(`--lane: ${options.lane} is none of ${LANES.join(', ')}`);
  const config = loadConfig(options.dataDir === undefined ? {} : { dataDir: options.dataDir });
  const stop = new AbortController();
  void untilToldToStop().then(() => stop.abort());
  await runWorkerProcess(config, lane, openLog(config), stop.signal);
}
