import { readFileSync } from 'node:fs';
import { loadConfig } from '../../src/config.ts';
import { finishedOf } from '../../src/domain/counts.ts';
import { type ItemRecord, isFinal } from '../../src/domain/item.ts';
import { partName } from '../../src/domain/manifest.ts';
import { openStorage } from '../../src/main/embedded-owner.ts';
import type { Page } from '../../src/ports/ledger.ts';

export interface JobSums {
  readonly jobs: number;
  readonly items: number;
  readonly lost: number;
  readonly doubled: number;
  readonly poison: number;
  readonly artifacts: number;
  readonly corrupt: number;
  readonly fenced: number;
  readonly again: { readonly cases: number; readonly medianMs: number; readonly maxMs: number };
  readonly problems: readonly string[];
}

/** Reads everything back when no process runs: ledger, files and manifests must agree. */
export async function sumUp(
  dataDir: string,
  jobIds: readonly string[],
  itemsPerJob: number,
  logFile: string,
  kills: readonly { pid: number; at: number }[],
): Promise<JobSums> {
  const storage = await openStorage(loadConfig({ dataDir, logLevel: 'silent' }));
  const sums = { items: 0, lost: 0, doubled: 0, poison: 0, artifacts: 0, corrupt: 0, fenced: 0 };
  const problems: string[] = [];
  try {
    for (const jobId of jobIds) {
      const job = await storage.ledger.job(jobId);
      if (job === null) {
        problems.push(`job ${jobId} is gone`);
        continue;
      }
      const seen = new Map<string, string>();
      let recounted = 0;
      for await (const item of itemsOf(storage.ledger, jobId)) {
        recounted += 1;
        if (seen.has(item.itemId)) sums.doubled += 1;
        seen.set(item.itemId, item.status);
        if (!isFinal(item.status)) sums.lost += 1;
        if (item.status === 'failed') {
          const type = item.attempts.at(-1)?.failure?.type;
          if (type === 'poison') sums.poison += 1;
          else problems.push(`${jobId}/${item.itemId} failed: ${type}`);
        }
        const kinds = item.artifacts.map(({ kind }) => kind).sort();
        if (item.status === 'success' && kinds.join() !== 'html,metadata') {
          problems.push(`${jobId}/${item.itemId} has the artifacts ${kinds.join()}`);
        }
        for (const artifact of item.artifacts) {
          sums.artifacts += 1;
          if (!(await storage.check(artifact))) sums.corrupt += 1;
        }
      }
      for (let number = 0; number < itemsPerJob; number += 1) if (!seen.has(`item-${number}`)) sums.lost += 1;
      sums.items += recounted;
      sums.fenced += job.fenced;
      const { counts } = job;
      if (job.status !== 'completed' || job.manifest === null) problems.push(`job ${jobId} is ${job.status}`);
      if (
        counts.total !== recounted ||
        finishedOf(counts) !== counts.total ||
        counts.queued + counts.inProgress !== 0
      ) {
        problems.push(`job ${jobId} counts ${JSON.stringify(counts)}, there are ${recounted} items`);
      }
      const listed = await listedItems(storage.store, jobId, job.manifest?.parts.full ?? 0);
      const once = new Set(listed);
      sums.doubled += listed.length - once.size;
      sums.lost += itemsPerJob - once.size;
    }
  } finally {
    await storage.close();
  }
  if (sums.lost > 0) problems.push(`${sums.lost} items lost`);
  if (sums.doubled > 0) problems.push(`${sums.doubled} items counted twice`);
  if (sums.corrupt > 0) problems.push(`${sums.corrupt} artifacts missing or corrupt`);
  const again = timesUntilAgain(readFileSync(logFile, 'utf8'), kills);
  if (again.maxMs > 5000) problems.push(`work of a killed worker ran again only after ${again.maxMs} ms`);
  return { jobs: jobIds.length, ...sums, again, problems };
}

type Storage = Awaited<ReturnType<typeof openStorage>>;

async function* itemsOf(ledger: Storage['ledger'], jobId: string): AsyncGenerator<ItemRecord> {
  let after: string | null = null;
  do {
    const page: Page<ItemRecord> = await ledger.items(jobId, { status: null, errorType: null }, { after, limit: 1000 });
    yield* page.entries;
    after = page.next;
  } while (after !== null);
}

async function listedItems(store: Storage['store'], jobId: string, parts: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; number < parts; number += 1) {
    const bytes = await store.get(`${jobId}/${partName('full', number)}`);
    const { items }: { items: { item_id: string }[] } = JSON.parse(new TextDecoder().decode(bytes ?? undefined));
    ids.push(...items.map((item) => item.item_id));
  }
  return ids;
}

/**
 * For every item that a process had begun and not ended when it was killed: how long until it began again elsewhere. An
 * item that had ended may have been settled, so it need not run again.
 */
function timesUntilAgain(log: string, kills: readonly { pid: number; at: number }[]) {
  const starts = new Map<string, { pid: number; at: number }[]>();
  const ended = new Set<string>();
  for (const line of log.split('\n')) {
    const [what, item = '', pid = '', at] = line.split(' ');
    if (what === 'end') ended.add(`${item} ${pid}`);
    if (what !== 'start') continue;
    const known = starts.get(item) ?? [];
    known.push({ pid: Number(pid), at: Number(at) });
    starts.set(item, known);
  }
  const killed = new Map(kills.map(({ pid, at }) => [pid, at]));
  const times: number[] = [];
  for (const [item, runs] of starts) {
    for (const [index, run] of runs.entries()) {
      const killedAt = killed.get(run.pid);
      if (killedAt === undefined || ended.has(`${item} ${run.pid}`)) continue;
      const next = runs[index + 1];
      if (next) times.push(Math.max(0, next.at - killedAt));
    }
  }
  times.sort((a, b) => a - b);
  return { cases: times.length, medianMs: times[Math.floor(times.length / 2)] ?? 0, maxMs: times.at(-1) ?? 0 };
}
