import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { openEngine } from '../../src/main/engine.ts';

/**
 * The process that the crash loop kills: the engine with its worker processes on one data directory. It submits the job
 * if it is not there yet, writes down which workers it has and which died, and ends when the job has its manifest.
 */
const [jobId = '', items = '0', logFile = ''] = process.argv.slice(2);
const config = loadConfig();
const engine = await openEngine(config);

const finished = Promise.withResolvers<void>();
engine.events.subscribe((event) => {
  if (event.kind === 'manifest-written' && event.jobId === jobId) finished.resolve();
  if (event.kind === 'engine-error') console.error(event.where, event.error);
});
const pool = engine.startWorkers();
const tell = () =>
  writeFileSync(join(config.dataDir, 'pids'), JSON.stringify({ host: process.pid, workers: pool.pids() }));
pool.onChange((change) => {
  tell();
  if (change.kind === 'died') appendFileSync(join(config.dataDir, 'deaths'), `${change.pid}\n`);
});
tell();

const existing = await engine.ledger.job(jobId);
if (existing === null) {
  const answer = await engine.submit({
    job_id: jobId,
    scraper_id: 'crash-logged',
    hold: true,
    execution_policy: { throttling: { max_concurrent_workers: 24 } },
  });
  if (answer.kind !== 'created') throw new Error(JSON.stringify(answer));
}
if (existing === null || existing.held) {
  // A host that was killed during the import begins it again: what is there already is not added twice.
  await engine.importItems(jobId, chunks(Number(items)));
  await engine.ledger.changeJob(jobId, { kind: 'start' }, Date.now());
}
console.log('ready');
if (existing?.manifest) finished.resolve();
await finished.promise;
await engine.stop();

function* chunks(total: number) {
  for (let first = 0; first < total; first += 500) {
    yield Array.from({ length: Math.min(500, total - first) }, (_, index) => {
      const number = first + index;
      return { itemId: `item-${number}`, input: { log: logFile, ms: 5 + (number % 50), bytes: 200 + (number % 4000) } };
    });
  }
}
