import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/config.ts';
import type { NewItem } from '../src/domain/item.ts';
import { type Engine, openEngine } from '../src/main/engine.ts';

/**
 * The same items twice: handed in by a user, and found by pages with 25 links each, from the first item handed in to the
 * manifest on the disk. Every second link of a page is one that the page before has as well.
 */
export async function benchDiscovery(
  size: { items: number; workers: number; concurrency: number },
  say: (line: string) => void,
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-bench-'));
  const config = loadConfig({
    ...{ dataDir, workers: size.workers, slots: Math.max(64, size.concurrency), logLevel: 'error' },
    scrapers: [fileURLToPath(new URL('discovery/scrapers', import.meta.url))],
  });
  const engine = await openEngine(config);
  try {
    await engine.startWorkers().ready;
    // The first run does not count: it warms code and files for both.
    await run(engine, 'warm-up', size.concurrency, pagesFor(2000));
    const submitted = await run(engine, 'submitted', size.concurrency, itemsFor(size.items));
    say(`submitted: ${submitted.items} items, ${submitted.perSecond}/s`);
    const found = await run(engine, 'found', size.concurrency, pagesFor(size.items));
    say(`found: ${found.items} items, ${found.perSecond}/s`);
    return {
      ...{ items: size.items, workers: size.workers, concurrency: size.concurrency },
      submitted_per_second: submitted.perSecond,
      found_items: found.added,
      duplicates: found.duplicates,
      found_per_second: Math.round(found.added / found.seconds),
      ratio: Math.round((100 * (found.added / found.seconds)) / (submitted.items / submitted.seconds)) / 100,
      ok: found.added === size.items && 2 * (found.added / found.seconds) >= submitted.items / submitted.seconds,
    };
  } finally {
    await engine.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const LINKS = 25;

async function run(engine: Engine, jobId: string, concurrency: number, chunks: Iterable<NewItem[]>) {
  const policy = { throttling: { max_concurrent_workers: concurrency }, discovery: { max_items: 100_000_000 } };
  const begun = performance.now();
  const answer = await engine.submit({
    job_id: jobId,
    scraper_id: 'bench-links',
    hold: true,
    execution_policy: policy,
  });
  if (answer.kind !== 'created') throw new Error(`the benchmark's job was not made: ${JSON.stringify(answer)}`);
  await engine.importItems(jobId, chunks);
  const finished = untilIndexed(engine, jobId);
  await engine.ledger.changeJob(jobId, { kind: 'start' }, Date.now());
  await finished;
  const seconds = (performance.now() - begun) / 1000;
  const job = await engine.ledger.job(jobId);
  const items = job?.counts.success ?? 0;
  const { added = 0, duplicates = 0 } = job?.discovery ?? {};
  return { items, added, duplicates, seconds, perSecond: Math.round(items / seconds) };
}

async function untilIndexed(engine: Engine, jobId: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = engine.events.subscribe((event) => {
    if (event.kind === 'manifest-written' && event.jobId === jobId) resolve();
    if (event.kind === 'engine-error') console.error('engine error', event.where, event.error);
  });
  return promise.finally(unsubscribe);
}

function* itemsFor(count: number): Generator<NewItem[]> {
  const CHUNK = 10_000;
  for (let first = 0; first < count; first += CHUNK) {
    yield Array.from({ length: Math.min(CHUNK, count - first) }, (_, index) => {
      const number = first + index;
      const parcel = ((number * 2_654_435_761) % 4_294_967_296).toString(36);
      return { itemId: `parcel-${parcel}-${number}`, input: { apn: `200-14-${number}`, county: 'demo' } };
    });
  }
}

/** Pages that lead to this many items together, each of them on two pages except the first and the last. */
function* pagesFor(count: number): Generator<NewItem[]> {
  const step = Math.floor(LINKS / 2);
  const pages: NewItem[] = [];
  for (let first = 0; first < count; first += step) {
    pages.push({ itemId: `list-${first}`, input: { first, links: Math.min(LINKS, count - first) } });
  }
  yield pages;
}
