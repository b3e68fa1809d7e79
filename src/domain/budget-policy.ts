import { z } from 'zod';
import { type Prices, priceVariables } from './prices.ts';
import { type ProxyPolicy, proxyLadder } from './proxy-policy.ts';

const limit = (description: string) => z.number().int().min(1).max(1e15).nullable().meta({ description }).default(null);

export const budgetSchema = z
  .strictObject({
    max_requests: limit('Requests that the job may send, including retries and redirects; null for no limit.'),
    max_bytes: limit('Bytes that it may send and receive, on the wire; null for no limit.'),
    max_proxy_bytes: limit('The same, counting only what goes through proxies; null for no limit.'),
    max_cost: z
      .number()
      .finite()
      .gt(0)
      .max(1e9)
      .nullable()
      .meta({
        description:
          'What its proxies may cost, by the prices that the server is configured with (`PRICE_PER_GB_…`); null for no limit.',
      })
      .default(null),
  })
  .meta({
    description:
      'What the job may use. When a limit is reached, the job is paused; items in progress at that moment still finish and count. ' +
      'Raise the limit and resume to continue.',
  });

export type BudgetPolicy = z.infer<typeof budgetSchema>;

/**
 * Checks a budget against this installation. `max_cost` can only be enforced if every proxy that the job may use has a
 * price.
 */
export function budgetProblems(
  { budget, proxy }: { readonly budget: BudgetPolicy; readonly proxy: Pick<ProxyPolicy, 'type' | 'escalate'> },
  prices: Prices,
): { readonly path: string; readonly message: string }[] {
  if (budget.max_cost === null) return [];
  const types = proxyLadder(proxy).filter((type) => type !== 'none');
  const path = 'budget.max_cost';
  if (types.length === 0) {
    return [{ path, message: 'needs a proxy: by the known prices, a job without one costs nothing' }];
  }
  return types
    .filter((type) => prices[type] === undefined)
    .map((type) => {
      const settings = priceVariables(type).join(' or ');
      return { path, message: `cannot be enforced: the price of ${type} proxies is not known; set ${settings}` };
    });
}
