import {
  afterItemChanges,
  afterRunChange,
  countItemChange,
  NO_RUN_COUNTS,
  newRunItem,
  pageOfRuns,
  type RunItem,
  type RunRecord,
  runItemState,
} from '../../../src/domain/scrape-run.ts';
import type { RunBook } from '../../../src/ports/run-book.ts';

interface Held {
  record: RunRecord;
  /** In the order in which they were added. */
  readonly items: Map<string, RunItem>;
}

export function openMemoryRuns(): RunBook {
  const held = new Map<string, Held>();
  let made = 0;

  function addTo(items: Map<string, RunItem>, urls: readonly string[]): number {
    const before = items.size;
    for (const url of urls) if (!items.has(url)) items.set(url, newRunItem(url));
    return items.size - before;
  }

  return {
    async draft() {
      const items = new Map<string, RunItem>();
      made += 1;
      const id = `run-${String(made).padStart(8, '0')}`;
      return {
        async add(urls) {
          addTo(items, urls);
        },
        async commit(run, now) {
          const counts = { ...NO_RUN_COUNTS, total: items.size };
          const times = { endedAt: null, createdAt: now, updatedAt: now };
          const record: RunRecord = { ...run, id, status: 'pending', ...times, counts };
          held.set(id, { record, items });
          return record;
        },
        async drop() {},
      };
    },
    run: async (id) => held.get(id)?.record ?? null,
    list: async (query) =>
      pageOfRuns(
        [...held.values()].map(({ record }) => record),
        query,
      ),
    async items(id, { state, after, limit }) {
      const all = [...(held.get(id)?.items.values() ?? [])].map((item, place) => ({ item, place }));
      const found = all.filter(
        ({ item, place }) => place > Number(after ?? -1) && (state === null || runItemState(item) === state),
      );
      const page = found.slice(0, limit);
      const next = found.length > limit ? String(page.at(-1)?.place) : null;
      return { items: page.map(({ item }) => item), next };
    },
    async add(id, urls, now) {
      const run = held.get(id);
      if (run === undefined) return { kind: 'missing' };
      if (run.record.endedAt !== null) return { kind: 'ended' };
      const added = addTo(run.items, urls);
      const counts = { ...run.record.counts, total: run.items.size };
      if (added > 0) run.record = { ...run.record, counts, updatedAt: now };
      return { kind: 'added', added, known: urls.length - added };
    },
    async update(id, updates, now) {
      const run = held.get(id);
      if (run === undefined) return { kind: 'missing' };
      const changed = new Map<string, RunItem>();
      const unknown: string[] = [];
      for (const { url, changes } of updates) {
        const item = run.items.get(url);
        if (item === undefined) {
          unknown.push(url);
          continue;
        }
        const next = afterItemChanges(item, changes);
        if (next === item) continue;
        run.items.set(url, next);
        changed.set(url, next);
        const { record } = run;
        const status = record.status === 'pending' ? 'processing' : record.status;
        run.record = { ...record, status, counts: countItemChange(record.counts, item, next), updatedAt: now };
      }
      return { kind: 'updated', changed: [...changed.values()], unknown };
    },
    async change(id, change, now) {
      const run = held.get(id);
      if (run === undefined) return null;
      run.record = afterRunChange(run.record, change, now);
      return run.record;
    },
    remove: async (id) => held.delete(id),
    async sweep() {},
  };
}
