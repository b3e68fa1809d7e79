import type { SiteRows } from '../../../src/ports/site-rows.ts';

export function openMemorySiteRows<Document>(): SiteRows<Document> {
  const sites = new Map<string, Map<string, Document>>();
  const rowsOf = (site: string) => sites.get(site) ?? new Map<string, Document>();
  return {
    get: async (names) => names.map(({ site, name }) => rowsOf(site).get(name) ?? null),
    async change(changes) {
      return changes.map(({ row, apply }) => {
        const rows = rowsOf(row.site);
        const next = apply(rows.get(row.name) ?? null);
        if (next === null) rows.delete(row.name);
        else rows.set(row.name, next);
        if (rows.size === 0) sites.delete(row.site);
        else sites.set(row.site, rows);
        return next;
      });
    },
    async page(site, after, limit) {
      const names = [...rowsOf(site).keys()].filter((name) => after === null || name > after).sort();
      const some = names.slice(0, limit);
      const rows = some.map((name) => rowsOf(site).get(name) as Document);
      return { rows, next: names.length > limit ? (some.at(-1) ?? null) : null };
    },
    sites: async (after, limit) =>
      [...sites.keys()]
        .filter((site) => after === null || site > after)
        .sort()
        .slice(0, limit),
    async removeSite(site) {
      const { size } = rowsOf(site);
      sites.delete(site);
      return size;
    },
  };
}
