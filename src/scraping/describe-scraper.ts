import { z } from 'zod';
import type { Lane } from '../domain/lane.ts';
import { fixtureFolderOf, hasFixture } from './fixtures/fixture-folder.ts';
import type { ScraperRegistry } from './registry.ts';
import type { ScraperSummary } from './scan-scraper.ts';

/** Everything that is known about a scraper without running it. */
export interface ScraperDescription extends ScraperSummary {
  readonly lane: Lane;
  readonly file: string;
  /** Null when it has none. */
  readonly fixture: string | null;
  /** JSON Schema of an item's input. */
  readonly input: object;
  /** JSON Schema of its data; null for one that extracts nothing. */
  readonly output: object | null;
}

/** Null when there is none of that id. */
export async function describeScraper(registry: ScraperRegistry, id: string): Promise<ScraperDescription | null> {
  const scraper = await registry.find(id);
  const file = registry.fileOf(id);
  if (scraper === null || file === null) return null;
  const { name, version, description, kind, lane, hosts } = scraper;
  const fixture = (await hasFixture(file)) ? fixtureFolderOf(file) : null;
  const input = jsonSchemaOf(scraper.input, 'input');
  const output = scraper.output === null ? null : jsonSchemaOf(scraper.output, 'output');
  return { id, name, version, description, kind, lane, hosts, file, fixture, input, output };
}

/** Types that JSON Schema cannot express accept anything. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  return z.toJSONSchema(schema, { io, unrepresentable: 'any' });
}
