import type { WebAnswer } from '../../egress/web.ts';
import { decodeText } from '../http/charset.ts';
import type { ProducedArtifact } from '../scraper.ts';

/**
 * The page of a failure, as it was received; as UTF-8, whatever it came in. It has a kind of its own, because it is not
 * what the scraper returned: a re-extraction that took it for that would read data out of a page of errors. Null if it is
 * not a text.
 */
export function failedPage({ body, headers }: WebAnswer): ProducedArtifact | null {
  const type = headers['content-type'] ?? 'text/html';
  if (body.length === 0 || !/^\s*text\/|html|xml|json|javascript/i.test(type)) return null;
  const bytes = Buffer.from(decodeText(body, headers['content-type']));
  if (/json/i.test(type)) return { kind: 'failed_page', bytes, contentType: 'application/json', extension: 'json' };
  return { kind: 'failed_page', bytes };
}
