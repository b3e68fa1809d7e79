import type { WebAnswer } from '../../egress/web.ts';
import { decodeText } from '../http/charset.ts';
import type { ProducedArtifact } from '../scraper.ts';

/**
 * The page of a failure as it was received, in UTF-8 whatever its charset was. It has its own kind, because it is not
 * what the scraper returned: a re-extraction would otherwise read data from an error page. Null if it is not a text.
 */
export function failedPage({ body, headers }: WebAnswer): ProducedArtifact | null {
  const type = headers['content-type'] ?? 'text/html';
  if (body.length === 0 || !/^\s*text\/|html|xml|json|javascript/i.test(type)) return null;
  const bytes = Buffer.from(decodeText(body, headers['content-type']));
  if (/json/i.test(type)) return { kind: 'failed_page', bytes, contentType: 'application/json', extension: 'json' };
  return { kind: 'failed_page', bytes };
}
