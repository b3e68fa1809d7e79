import type { Failure } from '../../src/domain/failure.ts';
import { classify } from '../../src/scraping/page/classify.ts';
import { type Arrival, explainAbsence as explain } from '../../src/scraping/page/explain-absence.ts';
import { type CompiledSigns, compileSigns, type Signs } from '../../src/scraping/page/signs.ts';
import { NOW } from '../support/builders.ts';

export interface Given {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  signs?: Signs;
  expectStatus?: number[];
  hasExpected?: boolean;
  notices?: CompiledSigns['notices'];
}

export function judge({
  status = 200,
  headers = {},
  body = GOOD,
  signs = {},
  expectStatus = [],
  hasExpected = false,
  notices = 'at-once',
}: Given): Failure | null {
  const answer = { status, headers: { 'content-type': 'text/html', ...headers }, url: 'https://county.example/parcel' };
  return classify(
    { ...answer, source: () => body, title: null },
    {
      signs: compileSigns(signs, notices),
      expectStatus,
      hasExpected: () => hasExpected,
      now: NOW,
      maxRetryAfterMs: 3_600_000,
    },
  );
}

export function explainAbsence(page: string, signs: Signs = {}, arrival: Arrival = { kind: 'as-asked' }) {
  return explain(page, compileSigns(signs), arrival);
}

export const GOOD = '<html><head><title>Parcel</title></head><body><h1>Parcel 1</h1><p>Owner: SMITH</p></body></html>';
export const PROSE = '<p>The quick assessor values every lot of the county once a year and writes it down.</p>';

export function pageOf(body: string, title = 'Parcel'): string {
  return `<!DOCTYPE html><html><head><title>${title}</title></head><body>${body}</body></html>`;
}

export const NOTICE = '<footer>Map layers are unavailable during scheduled maintenance</footer>';
export const SEARCH = '<form action=/find><input type=hidden name=s><input name=q></form>';

export const F5_REFUSAL = pageOf(
  'The requested URL was rejected. Please consult with your administrator.',
  'Request Rejected',
);
