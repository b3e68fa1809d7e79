import { ConfigError, loadConfig } from '../config.ts';
import { errorMessage } from '../domain/error-message.ts';
import { LANES } from '../domain/lane.ts';
import { openLog } from './log.ts';
import { untilToldToStop } from './stop-signal.ts';
import { runWorkerProcess } from './worker.ts';

/** The entry of a worker process that an engine starts. Its settings are in its environment, its lane is its argument. */
const lane = LANES.find((known) => known === process.argv[2]);
const stop = new AbortController();
void untilToldToStop().then(() => stop.abort());
try {
  if (lane === undefined) throw new ConfigError(`the lane must be ${LANES.join(' or ')}`);
  const config = loadConfig();
  await runWorkerProcess(config, lane, openLog(config), stop.signal);
} catch (error) {
  process.stderr.write(`trawl: ${errorMessage(error)}\n`);
  process.exitCode = error instanceof ConfigError ? 2 : 3;
}
