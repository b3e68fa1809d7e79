import { createHash } from 'node:crypto';
import type { PutOptions } from '../../../src/ports/result-store.ts';

export const KEEP: PutOptions = { contentType: 'text/html', encoding: 'identity', ifTaken: 'keep' };
export const REPLACE: PutOptions = { ...KEEP, ifTaken: 'replace' };
export const KEY = 'job-1/items/p-0/html.html';

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Bytes without a pattern, different for each seed, so that no encoding makes them short. */
export function noise(length: number, seed = 1): Uint8Array {
  const body = new Uint8Array(length);
  let state = seed;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    body[index] = state >>> 24;
  }
  return body;
}

export function sha256(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

export function same(a: Uint8Array | null, b: Uint8Array): boolean {
  return a !== null && Buffer.compare(a, b) === 0;
}
