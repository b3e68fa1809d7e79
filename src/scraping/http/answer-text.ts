import type { WebAnswer } from '../../egress/web.ts';
import { titleOf } from '../page/rough-text.ts';
import { fail } from '../scrape-failure.ts';
import { readText } from './charset.ts';
import type { PageSource } from './page.ts';

/** Decoded once, on first use; then the bytes are released. */
export function sourceOf(answer: WebAnswer): PageSource {
  let bytes: Uint8Array | null = answer.body;
  let read = { text: '', charset: 'utf-8' };
  const decoded = () => {
    if (bytes !== null) read = readText(bytes, answer.headers['content-type']);
    bytes = null;
    return read;
  };
  return { text: () => decoded().text, charset: () => decoded().charset };
}

export function parseJson(text: string, { headers, url, status }: WebAnswer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const what = `${headers['content-type'] ?? 'something'} "${titleOf(text) || text.slice(0, 60)}"`;
    return fail('structure_changed', `expected JSON, but ${what} came (${status}, ${url})`);
  }
}
