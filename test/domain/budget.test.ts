import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BudgetState, budgetLeft, describeReached, judgeBudget } from '../../src/domain/budget.ts';
import { type BudgetPolicy, budgetProblems, budgetSchema } from '../../src/domain/budget-policy.ts';
import { NO_COUNTS } from '../../src/domain/counts.ts';
import { planDispatch } from '../../src/domain/dispatch-plan.ts';
import { applyJobEvent, isRefusal } from '../../src/domain/job.ts';
import { costOf, type Prices, pricesOf } from '../../src/domain/prices.ts';
import type { Usage, UsageRow } from '../../src/domain/usage.ts';
import { jobOf, NOW, policyOf } from './builders.ts';

const GB = 1e9;
const ROW: UsageRow = {
  ...{ host: 'a.test', proxy: 'none', requests: 0, bytesUp: 0, bytesDown: 0, refused: 0, blocked: 0 },
};

function used(counts: Partial<UsageRow>): Usage {
  return [{ ...ROW, ...counts }];
}

function stateOf(budget: Partial<BudgetPolicy>, state: Partial<BudgetState> = {}): BudgetState {
  return { policy: { budget: budgetSchema.parse(budget) }, usage: [], counts: NO_COUNTS, itemsInFlight: 0, ...state };
}

test('without a limit everything may go out, whatever was used', () => {
  const verdict = judgeBudget(stateOf({}, { usage: used({ requests: 1e9, bytesDown: 1e15 }) }));
  assert.deepEqual(verdict, { kind: 'room', items: Number.POSITIVE_INFINITY, perBatch: Number.POSITIVE_INFINITY });
});

test('each limit is reached by what it counts, and by nothing else', () => {
  const usage: Usage = [
    { ...ROW, requests: 10, bytesUp: 100, bytesDown: 900 },
    { ...ROW, proxy: 'residential', requests: 5, bytesUp: 2 * GB, bytesDown: 3 * GB },
  ];
  const prices: Prices = { residential: { perGb: 8 } };
  const uses = { max_requests: 15, max_bytes: 5 * GB + 1000, max_proxy_bytes: 5 * GB, max_cost: 40 };
  for (const [limit, max] of Object.entries(uses)) {
    assert.deepEqual(judgeBudget(stateOf({ [limit]: max }, { usage, prices })), {
      ...{ kind: 'reached', limit, used: max, max },
    });
    assert.equal(judgeBudget(stateOf({ [limit]: max + 1 }, { usage, prices })).kind, 'room', limit);
    const left = budgetLeft(stateOf({ [limit]: max + 1 }, { usage, prices }));
    assert.deepEqual(
      Object.values(left).filter((each) => each !== null),
      [1],
    );
  }
});

test('what is left is shared out by what items have used so far, and what is in flight is taken off', () => {
  const state = { usage: used({ requests: 200 }), counts: { ...NO_COUNTS, total: 1000, success: 100 } };
  const roomOf = (max: number, itemsInFlight: number) => {
    const verdict = judgeBudget(stateOf({ max_requests: max }, { ...state, itemsInFlight }));
    return verdict.kind === 'room' ? verdict.items : 'reached';
  };
  assert.equal(roomOf(300, 0), 50);
  assert.equal(roomOf(300, 30), 20);
  assert.equal(roomOf(300, 60), 0, 'what is in flight may use all of it');
  assert.equal(roomOf(201, 0), 1, 'one more, rather than stop before the end');
  assert.equal(roomOf(200, 0), 'reached');
});

test('before the first item has ended they go out one by one, and no more than there are requests', () => {
  assert.deepEqual(judgeBudget(stateOf({ max_requests: 7 }, { itemsInFlight: 3 })), {
    ...{ kind: 'room', items: 4, perBatch: 1 },
  });
  assert.deepEqual(judgeBudget(stateOf({ max_bytes: 1 })), {
    ...{ kind: 'room', items: Number.POSITIVE_INFINITY, perBatch: 1 },
  });
});

test('a plan never lets more out than the budget has room for, and pauses the job when it is used up', () => {
  fc.assert(
    fc.property(
      fc.record({ max: fc.integer({ min: 1, max: 500 }), requests: fc.nat(500), success: fc.nat(100) }),
      fc.record({ batches: fc.nat(5), behind: fc.nat(20), perBatch: fc.integer({ min: 1, max: 100 }) }),
      ({ max, requests, success }, { batches, behind, perBatch }) => {
        const itemsInFlight = batches === 0 ? 0 : batches + behind;
        const job = jobOf(
          { budget: { max_requests: max }, throttling: { max_concurrent_workers: 10 } },
          {
            ...{ status: 'in_progress', itemsInFlight, usage: used({ requests }) },
            counts: { ...NO_COUNTS, total: 10_000, inProgress: batches, success },
          },
        );
        const plan = planDispatch(job, perBatch, NOW);
        assert.equal(plan.kind === 'exhausted', requests >= max);
        if (plan.kind !== 'go') return;
        const average = success === 0 ? 1 : requests / success;
        const most = Math.max(itemsInFlight === 0 ? 1 : 0, Math.floor((max - requests) / average) - itemsInFlight);
        if (requests > 0 || success === 0)
          assert.ok(plan.allowance.items <= most, `${plan.allowance.items} of ${most}`);
        if (success === 0) assert.equal(plan.allowance.itemsPerBatch, 1);
      },
    ),
  );
});

test('a job whose budget is used up is paused with the reason, and resumes only when it is raised', () => {
  const counts = { ...NO_COUNTS, total: 10, success: 4 };
  const job = jobOf(
    { budget: { max_requests: 1000 } },
    { status: 'in_progress', counts, usage: used({ requests: 1003 }) },
  );
  const paused = applyJobEvent(job, { kind: 'exhaust' }, NOW);
  assert.ok(!isRefusal(paused));
  const message = 'the budget is used up: 1,003 of 1,000 requests; raise budget.max_requests, then resume the job';
  assert.deepEqual([paused.status, paused.reason], ['paused', { code: 'budget', message, evidence: [] }]);
  const refused = applyJobEvent(paused, { kind: 'resume' }, NOW);
  assert.deepEqual(refused, { refused: message });
  const policy = { ...job.policy, budget: { ...job.policy.budget, max_requests: 2000 } };
  const raised = applyJobEvent(paused, { kind: 'policy', policy }, NOW);
  assert.ok(!isRefusal(raised));
  const resumed = applyJobEvent(raised, { kind: 'resume' }, NOW);
  assert.ok(!isRefusal(resumed));
  assert.deepEqual([resumed.status, resumed.reason], ['in_progress', null]);
  assert.ok(isRefusal(applyJobEvent(resumed, { kind: 'exhaust' }, NOW)), 'it was raised meanwhile');
});

test('the message says how much of what was used', () => {
  assert.equal(
    describeReached({ limit: 'max_proxy_bytes', used: 3.5 * 2 ** 30, max: 3 * 2 ** 30 }),
    'the budget is used up: 3.5 GiB of 3 GiB sent and received through proxies',
  );
  assert.equal(
    describeReached({ limit: 'max_cost', used: 12.3456, max: 12 }),
    'the budget is used up: 12.35 of 12 for proxies',
  );
});

test('cost follows the prices of each kind of proxy, and is unknown where one is missing', () => {
  const settings = {
    ...{ pricePerGbDatacenter: null, pricePerGbResidential: 8.4, pricePerGbWebUnlocker: null },
    ...{ pricePerThousandRequestsWebUnlocker: 1.5, pricePerGbCustom: 0 },
  };
  const prices = pricesOf(settings);
  assert.deepEqual(prices, {
    residential: { perGb: 8.4 },
    web_unlocker: { perThousandRequests: 1.5 },
    custom: { perGb: 0 },
  });
  const through = (proxy: UsageRow['proxy']) => ({ ...ROW, proxy, requests: 200, bytesUp: GB / 4, bytesDown: GB / 4 });
  assert.equal(costOf([through('none')], {}), 0);
  assert.equal(costOf([through('none'), through('residential'), through('web_unlocker')], prices), 4.5);
  assert.equal(costOf([through('custom')], prices), 0);
  assert.equal(costOf([through('residential'), through('datacenter')], prices), null);
});

test('max_cost needs the price of every proxy that the job may use, and a proxy', () => {
  const prices: Prices = { datacenter: { perGb: 0.6 } };
  const problems = (type: UsageRow['proxy'], ...escalate: UsageRow['proxy'][]) =>
    budgetProblems({ budget: budgetSchema.parse({ max_cost: 10 }), proxy: { type, escalate } }, prices).map(
      ({ message }) => message,
    );
  assert.deepEqual(problems('datacenter'), []);
  assert.deepEqual(problems('none', 'datacenter'), []);
  assert.deepEqual(problems('datacenter', 'residential', 'web_unlocker'), [
    'cannot be enforced: the price of residential proxies is not known; set PRICE_PER_GB_RESIDENTIAL',
    'cannot be enforced: the price of web_unlocker proxies is not known; set PRICE_PER_GB_WEB_UNLOCKER or PRICE_PER_THOUSAND_REQUESTS_WEB_UNLOCKER',
  ]);
  assert.match(problems('none')[0] ?? '', /needs a proxy/);
  const { proxy, budget } = policyOf({ proxy: { type: 'residential' } });
  assert.deepEqual(budgetProblems({ proxy, budget }, prices), []);
});
