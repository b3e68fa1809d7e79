import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isNearlyDue, retirement, type SessionUse } from '../../src/domain/session-retirement.ts';

const LIMITS = { maxItems: 100, maxAgeMs: 3_600_000, maxMemoryBytes: 1e9, idleMs: 60_000 };
const FRESH: SessionUse = { items: 5, load: 0, ageMs: 1000, unusedMs: 0, memoryBytes: 2e8 };

const CASES: readonly [what: string, use: Partial<SessionUse>, due: string | null, isNearly: boolean][] = [
  ['a fresh session', {}, null, false],
  ['many items', { items: 100, load: 1 }, 'items', true],
  ['nearly as many', { items: 90, load: 1 }, null, true],
  ['an old one', { ageMs: 3_600_000 }, 'age', true],
  ['one that is nearly as old', { ageMs: 3_300_000 }, null, true],
  ['one that has grown', { memoryBytes: 1e9, load: 2 }, 'memory', true],
  ['one of unknown size', { memoryBytes: null }, null, false],
  ['an idle one', { unusedMs: 60_000 }, 'idle', false],
  ['one whose only item takes long', { unusedMs: 60_000, load: 1 }, null, false],
];

for (const [what, use, due, isNearly] of CASES) {
  test(`${what} is ${due === null ? 'kept' : `retired by ${due}`}${isNearly ? ', and its successor is due' : ''}`, () => {
    assert.equal(retirement({ ...FRESH, ...use }, LIMITS), due);
    assert.equal(isNearlyDue({ ...FRESH, ...use }, LIMITS), isNearly);
  });
}
