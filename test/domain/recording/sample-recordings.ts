import assert from 'node:assert/strict';
import { parseRecording } from '../../../src/domain/recording/parse-recording.ts';
import { describeProblem } from '../../../src/domain/recording/problem.ts';
import type { Recording } from '../../../src/domain/recording/recording.ts';

/** A search, its result and what is read of it, as it is written in a file. */
export const SEARCH = {
  id: 'county',
  hosts: ['county.example.gov'],
  steps: [
    { type: 'goto', url: 'https://county.example.gov/search' },
    { type: 'fill', selectors: ['label/Parcel number', '#apn'], value: '{{input.apn | digits}}' },
    { type: 'click', selectors: ['aria/Search[role="button"]', '#search'], navigation: {} },
    {
      type: 'if',
      condition: { type: 'text', text: 'No records found' },
      then: [{ type: 'stop', outcome: 'no_results' }],
    },
    { type: 'extractText', selectors: ['#owner'], field: 'owner' },
    { type: 'screenshot' },
  ] as Record<string, unknown>[],
};

export function readRecording(document: unknown): Recording {
  const parsed = parseRecording(document);
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.problems.map(describeProblem).join('\n'));
  return parsed.recording;
}
