import { z } from 'zod';
import type { TurnWish } from '../../../domain/batch-turn.ts';
import { PAGE_METHODS, type PageKey, type PageNews } from '../../../domain/cached-page.ts';
import type { PagePath, PathNews } from '../../../domain/path-errors.ts';
import { MAX_PAGE_URL } from '../../../domain/site-url.ts';
import { BadCall } from './call-arguments.ts';

/** Arguments about pages of sites: a few for every page that is requested from a site, so that a schema is fast enough. */

const site = z.string().min(1).max(400);
const path = z.string().max(MAX_PAGE_URL);
const url = z.string().max(2 * MAX_PAGE_URL);
const at = z.number();
/** The rule cuts or drops what is longer than it keeps. */
const loose = z
  .string()
  .max(64 * 1024)
  .nullable();

const key = z.strictObject({ site, path, method: z.enum(PAGE_METHODS) });
const page = z.strictObject({ site, path });
const body = { sha256: z.string().regex(/^[0-9a-f]{64}$/), size: z.number().int().min(0) };
const by = z.string().max(64).exactOptional();
const validators = { etag: loose, lastModified: loose };

const news = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('read'),
    key,
    url,
    version: z.strictObject({ title: loose, fetchedAt: at, ...body, ...validators }),
    by,
  }),
  z.strictObject({ kind: z.literal('same'), key, at, validators: z.strictObject(validators), by }),
  z.strictObject({ kind: z.literal('asset'), key, url, at }),
  z.strictObject({ kind: z.literal('links'), key, url, at, ...body }),
]);

const pathNewsSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('failed'), page, error: z.string().max(64 * 1024), at }),
  z.strictObject({ kind: z.literal('cleared'), page }),
]);

/** More than a worker sends at once. */
const MAX_LIST = 10_000;

function listOf<T>(what: string, schema: z.ZodType<T>): (value: unknown) => readonly T[] {
  const list = z.array(schema).max(MAX_LIST);
  return (value) => {
    const { data } = list.safeParse(value);
    if (data === undefined) throw new BadCall(`this is not a list of ${what}`);
    return data;
  };
}

const wish = z.strictObject({ site, name: z.string().max(100), delayMs: z.number().min(0), now: at });

export function turnWish(value: unknown): TurnWish {
  const { data } = wish.safeParse(value);
  if (data === undefined) throw new BadCall('this is not a wish for a turn');
  return data;
}

export const pageKeys = listOf<PageKey>('keys of pages', key);
export const pageNews = listOf<PageNews>('news of pages', news);
export const pagePaths = listOf<PagePath>('pages', page);
export const pathNews = listOf<PathNews>('failures of pages', pathNewsSchema);
