import type { Ledger } from '../src/ports/ledger.ts';

/** Times of a status read and of an item page, the slowest kind of page, as medians: a machine is never quiet. */
export async function timeReads(ledger: Ledger, jobId: string, items: number) {
  const status: number[] = [];
  for (let round = 0; round < 50; round += 1)
    status.push((await timed(() => readOften(ledger, jobId))) / READS_AT_ONCE);

  const pages: number[] = [];
  for (const filter of FILTERS) {
    const times: number[] = [];
    for (const share of [0, 0.25, 0.5, 0.75, 0.99]) {
      const after = await cursorAt(ledger, jobId, Math.floor(items * share));
      for (let round = 0; round < 20; round += 1) {
        times.push(await timed(() => ledger.items(jobId, filter, { after, limit: 100 })));
      }
    }
    pages.push(median(times));
  }
  const one: number[] = [];
  const page = await ledger.items(jobId, ANY, { after: await cursorAt(ledger, jobId, items / 2), limit: 100 });
  for (const { itemId } of page.entries) one.push(await timed(() => ledger.item(jobId, itemId)));

  return {
    status_read_ms: rounded(median(status)),
    item_page_ms: rounded(Math.max(...pages)),
    item_read_ms: rounded(median(one)),
  };
}

const ANY = { status: null, errorType: null } as const;
const FILTERS = [
  ANY,
  { status: 'success', errorType: null },
  { status: 'failed', errorType: null },
  { status: 'pending', errorType: null },
  { status: 'failed', errorType: 'timeout' },
] as const;

/** Cursors are the adapter's own, so one is obtained by asking for the page that ends there. */
async function cursorAt(ledger: Ledger, jobId: string, position: number): Promise<string | null> {
  let after: string | null = null;
  for (let seen = 0; seen < position; ) {
    const page = await ledger.items(jobId, ANY, { after, limit: Math.min(10_000, position - seen) });
    seen += page.entries.length;
    if (page.next === null) return after;
    after = page.next;
  }
  return after;
}

/** One read is shorter than the clock can measure. */
const READS_AT_ONCE = 100;

async function readOften(ledger: Ledger, jobId: string): Promise<void> {
  for (let round = 0; round < READS_AT_ONCE; round += 1) await ledger.job(jobId);
}

async function timed(read: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await read();
  return performance.now() - begun;
}

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

function rounded(ms: number): number {
  return Math.round(ms * 10_000) / 10_000;
}
