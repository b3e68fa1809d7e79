import type { z } from 'zod';
import { problemsOf } from './define-scraper.ts';
import type { Reader } from './extract/reader.ts';
import { fail } from './scrape-failure.ts';

/** A page just fetched, or a stored one: its text and where it came from. */
export type PageToParse = Reader & { readonly body: string };

/** The pages that a scraper returned by name, as `parse` gets them: now, and whenever they are read again. */
export class KeptPages {
  readonly #pages: ReadonlyMap<string, PageToParse>;

  constructor(pages: ReadonlyMap<string, PageToParse>) {
    this.#pages = pages;
  }

  get names(): readonly string[] {
    return [...this.#pages.keys()];
  }

  has(name: string): boolean {
    return this.#pages.has(name);
  }

  /** Fails if there is no page of this name: check `has` first for one that not every item has. */
  get(name: string): PageToParse {
    const names = this.names.length === 0 ? 'none' : this.names.join(', ');
    return this.#pages.get(name) ?? fail('structure_changed', `no page named "${name}" was kept (kept: ${names})`);
  }

  /** A page that is JSON, checked against the schema if there is one. */
  json<Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema>;
  json(name: string): unknown;
  json(name: string, schema?: z.ZodType): unknown {
    const { body, url } = this.get(name);
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch {
      return fail('structure_changed', `the page named "${name}" is not JSON (${url})`);
    }
    const parsed = schema?.safeParse(value);
    if (parsed === undefined) return value;
    return parsed.success ? parsed.data : fail('structure_changed', `${name}: ${problemsOf(parsed.error)} (${url})`);
  }
}
