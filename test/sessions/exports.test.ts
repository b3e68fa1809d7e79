import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DistributionResult, itemsToSessions, type SessionStats } from 'trawl/sessions';

test('sessions and their distribution can be imported from the package', () => {
  const stats: SessionStats = { sessionId: 'a', itemsProcessed: 0, errors: 0, uptime: 0, currentLoad: 0 };
  const items = [{ url: 'https://a.example/1', done: false }];
  const results: DistributionResult[] = itemsToSessions(items, [{ id: stats.sessionId }]);
  assert.deepEqual(results, [{ session: { id: 'a' }, items }]);
});
