import type { Digest } from '../domain/artifact.ts';
import { type Found, MAX_FOUND, MAX_FOUND_BYTES } from '../domain/found.ts';
import { isRecord } from '../domain/is-record.ts';
import type { NewItem } from '../domain/item.ts';
import { itemOfEntry } from '../domain/item-entry.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Secrets } from '../domain/secrets.ts';
import type { LeasedItem } from '../ports/ledger.ts';
import { problemsOf } from '../scraping/define-scraper.ts';
import type { ScrapeFacts, ScrapeResult, Scraper } from '../scraping/scraper.ts';

interface ReadFound {
  readonly found: Found;
  /** For `metadata.json`. */
  readonly facts: ScrapeFacts;
}

interface FindDeps {
  readonly tools: { readonly secrets: Secrets };
  readonly digest: Digest;
}

/**
 * The items that an attempt found, in the form the job takes; null for none. An entry that cannot be an item is counted
 * and described in the metadata, and the result still counts. A re-extraction finds nothing: it only reads stored
 * pages, and there is no page of a new item to read.
 */
export function readFound(
  result: ScrapeResult,
  scraper: Scraper | { readonly unusable: string },
  item: Pick<LeasedItem, 'depth' | 'source'>,
  { tools: { secrets }, digest }: FindDeps,
): ReadFound | null {
  if (result.kind === 'failed' || result.found === undefined || result.found.length === 0) return null;
  if ('unusable' in scraper || item.source !== undefined) return null;
  const depth = (item.depth ?? 0) + 1;
  const items: NewItem[] = [];
  const problems: string[] = [];
  let invalid = 0;
  let bytes = 0;
  for (const [index, entry] of result.found.entries()) {
    const read = itemOf(entry, scraper, secrets, digest);
    if ('problem' in read) {
      invalid += 1;
      if (problems.length < MAX_TOLD) problems.push(`found[${index}]: ${read.problem}`);
      continue;
    }
    bytes += read.bytes;
    if (items.length === MAX_FOUND || bytes > MAX_FOUND_BYTES) {
      const beyond = result.found.length - index;
      return toldOf({ items, ...(invalid > 0 && { invalid }), beyond }, problems);
    }
    items.push({ ...read.item, depth });
  }
  return toldOf({ items, ...(invalid > 0 && { invalid }) }, problems);
}

export function withFacts(result: ScrapeResult, finds: ReadFound | null): ScrapeResult {
  return finds === null ? result : { ...result, facts: { ...result.facts, ...finds.facts } };
}

export function withFound(outcome: Outcome, finds: ReadFound | null): Outcome {
  return finds === null || outcome.kind === 'failed' ? outcome : { ...outcome, found: finds.found };
}

type Read = { readonly item: NewItem; readonly bytes: number } | { readonly problem: string };

/** Not all scrapers are type-checked, and what they find comes from a site. */
function itemOf(entry: unknown, { input: schema }: Scraper, secrets: Secrets, digest: Digest): Read {
  if (!isRecord(entry) || !isRecord(entry['input'])) return { problem: 'it must be { input: { … } }' };
  const unknown = Object.keys(entry).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) return { problem: `it has the unknown field ${unknown}` };
  const read = itemOfEntry(entry, digest);
  if ('problem' in read) return read;
  const { itemId, input } = read.item;
  const checked = schema.safeParse(input);
  if (!checked.success) return { problem: problemsOf(checked.error) };
  const json = JSON.stringify(input);
  // The ledger shows inputs to every reader of the job.
  if (secrets.hasAny && secrets.mask(json) !== json) return { problem: 'its input contains the value of a secret' };
  return { item: read.item, bytes: Buffer.byteLength(json) + itemId.length };
}

function toldOf(found: Found, problems: readonly string[]): ReadFound {
  const { items, beyond = 0 } = found;
  return {
    found,
    facts: {
      found: items.length + beyond,
      ...(problems.length > 0 && { invalid_found: problems }),
    },
  };
}

const FIELDS: ReadonlySet<string> = new Set(['item_id', 'input', 'group']);

/** Of a thousand bad links, the first ones show why. */
const MAX_TOLD = 10;
