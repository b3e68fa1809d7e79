import type { ItemInput } from '../domain/item.ts';
import { schemaProblems } from '../domain/schema-problems.ts';
import { jsonSchemaOf } from './describe-scraper.ts';
import type { ScraperRegistry } from './registry.ts';
import type { Scraper } from './scraper.ts';

/**
 * The scrapers as the controller knows them: their descriptions, and whether they accept an input. The shape is that of
 * its `ScraperCatalog`.
 */
export function openCatalog(registry: ScraperRegistry) {
  // A scraper is requested with every job, and its JSON Schema is always the same.
  const told = new WeakMap<Scraper, ReturnType<typeof entryOf>>();
  return {
    async list() {
      return registry.list().map((entry) => {
        if (entry.kind === 'known') return { kind: 'known' as const, summary: entry.summary };
        return { kind: 'broken' as const, id: entry.id, problem: entry.problem };
      });
    },
    async find(id: string) {
      const scraper = await registry.find(id);
      if (scraper === null) return null;
      const entry = told.get(scraper) ?? entryOf(scraper);
      told.set(scraper, entry);
      return entry;
    },
    problemOf: (id: string) => registry.problemOf(id),
  };
}

function entryOf(scraper: Scraper) {
  const { id, name, version, description, kind, lane, hosts, output } = scraper;
  return {
    ...{ id, name, version, description, kind, lane, hosts },
    input: jsonSchemaOf(scraper.input, 'input'),
    output: output === null ? null : jsonSchemaOf(output, 'output'),
    canExtract: scraper.extract !== null,
    problemsOf: (input: ItemInput) => problemsOf(scraper, input),
  };
}

/**
 * Empty if the schema cannot be used here, because it throws or is asynchronous: the worker checks again, and reports
 * it as the item's failure.
 */
function problemsOf({ input: schema }: Scraper, input: ItemInput) {
  try {
    const parsed = schema.safeParse(input);
    return parsed.success ? [] : schemaProblems(parsed.error);
  } catch {
    return [];
  }
}
