import assert from 'node:assert/strict';

type Ask = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ readonly status: number; readonly json: unknown }>;

/** A job in every state that there is; requests may have changed or deleted those of the round before. */
export async function jobsInStates(ask: Ask, round: number): Promise<readonly string[]> {
  const id = (state: string) => `${state}-${round}`;
  const create = async (state: string, document: object) => {
    const { status, json } = await ask('POST', '/jobs', { job_id: id(state), ...document });
    assert.equal(status, 201, JSON.stringify(json));
  };
  const items = (count: number, input: object) =>
    Array.from({ length: count }, (_, index) => ({ item_id: `item-${index}`, input }));
  await create('held', { scraper_id: 'example-slow', items: items(8, { ms: 1 }), hold: true });
  await create('running', {
    scraper_id: 'example-slow',
    items: items(8, { ms: 600_000 }),
    execution_policy: { throttling: { max_concurrent_workers: 2 } },
  });
  await create('paused', { scraper_id: 'example-slow', items: items(8, { ms: 1 }), hold: true });
  await ask('POST', `/jobs/${id('paused')}/pause`);
  await create('failed', {
    scraper_id: 'example-fail',
    items: items(8, {}),
    execution_policy: {
      retries: { max_retries: 0 },
      circuit_breaker: { min_requests: 2, failure_threshold_percentage: 0.5 },
    },
  });
  await create('completed', { scraper_id: 'example-slow', items: items(8, { ms: 1, bytes: 2000 }) });
  await create('partly', {
    scraper_id: 'example-fail',
    items: items(8, { type: 'no_results' }),
    execution_policy: { retries: { max_retries: 0 } },
  });
  await create('cancelled', { scraper_id: 'example-slow', items: items(8, { ms: 1 }), hold: true });
  await ask('POST', `/jobs/${id('cancelled')}/cancel`);
  return [...STATES.map(id), 'missing'];
}

const STATES = ['held', 'running', 'paused', 'failed', 'completed', 'partly', 'cancelled'];

/** Cancels the jobs that a round leaves, which would keep workers busy for ever. */
export async function endJobs(ask: Ask, round: number): Promise<void> {
  for (const state of STATES) await ask('POST', `/jobs/${state}-${round}/cancel`);
}

/** A scrape run that is pending, one that is being processed and one that has ended, each with two items. */
export async function runsInStates(ask: Ask): Promise<readonly string[]> {
  const create = async () => {
    const items = [1, 2].map((page) => ({ url: `https://example.com/${page}` }));
    const { status, json } = await ask('POST', '/api/scrape-runs', { domain: 'example.com', items });
    assert.equal(status, 201, JSON.stringify(json));
    return String((json as { readonly _id: string })._id);
  };
  const [pending, processing, ended] = [await create(), await create(), await create()];
  await ask('PATCH', `/api/scrape-runs/${processing}`, {
    updateItem: { url: 'https://example.com/1', changes: { done: true } },
  });
  await ask('PATCH', `/api/scrape-runs/${ended}`, { finalize: true });
  return [pending, processing, ended, 'missing'];
}
