import { hash } from 'node:crypto';
import type { Key } from '../dynamo/attributes.ts';

/**
 * Rows of scrape runs. Runs of one domain share a key, so that they are listed by one query; the last character of a
 * run's id names it, so that a run is found by its id alone. The rest of the id, `inc`, names the rows of its items.
 *
 *   RUNS#<shard>       <id>           a run with its counters
 *   R#<inc>            U#<chunk>      URLs, of up to ninety items that were added together
 *                      S#<chunk>      … and what is known of each of them
 *   RU#<inc>#<shard>   <hash of URL>  the place of a URL
 *   RUN-GARBAGE        <inc>          a draft, or what is left of a run that was removed
 */

const SHARDS = '0123456789abcdef';

export const RUN_SHARDS: readonly string[] = [...SHARDS].map((shard) => `RUNS#${shard}`);
export const RUN_GARBAGE = 'RUN-GARBAGE';

export function runIdFor(inc: string, domain: string): string {
  return `${inc}${hash('sha256', domain).charAt(0)}`;
}

export function incOf(runId: string): string {
  return runId.slice(0, -1);
}

/** Null if no run can have this id. */
export function runKey(runId: string): Key | null {
  const shard = runId.at(-1) ?? '';
  return shard !== '' && SHARDS.includes(shard) ? { pk: `RUNS#${shard}`, sk: runId } : null;
}

export function runsOfDomainPk(domain: string): string {
  return `RUNS#${hash('sha256', domain).charAt(0)}`;
}

export function runItemsPk(inc: string): string {
  return `R#${inc}`;
}

export function urlsSk(chunk: number): string {
  return `U#${padded(chunk)}`;
}

export function statesSk(chunk: number): string {
  return `S#${padded(chunk)}`;
}

export function urlKey(inc: string, url: string): Key {
  const digest = hash('sha256', url);
  return { pk: `RU#${inc}#${digest.charAt(0)}`, sk: digest };
}

/** More than a chunk can have. */
const PLACES_PER_CHUNK = 100;

export function placeIn(chunk: number, index: number): number {
  return chunk * PLACES_PER_CHUNK + index;
}

export function partsOfPlace(place: number): { readonly chunk: number; readonly index: number } {
  return { chunk: Math.floor(place / PLACES_PER_CHUNK), index: place % PLACES_PER_CHUNK };
}

/** Texts are sorted by character. */
function padded(number: number): string {
  return String(number).padStart(10, '0');
}
