import { z } from 'zod';
import { PROXY_TYPES } from '../domain/proxy-policy.ts';
import { amountOrNull, count, list, text } from './answer-fields.ts';

/** What the API says about requests and bytes. */
export const ITEM_USAGE_FIELDS = {
  requests: count('Requests sent, including repeated ones, redirects and robots.txt.'),
  bytes_up: count('Bytes sent on the wire, including headers, TLS and what a proxy was asked.'),
  bytes_down: count('Bytes received on the wire, compressed as they came.'),
};

const usageRowSchema = z.object({
  host: text(
    'Host, with its port unless it is the default one; `other` stands for all hosts without a row of their own.',
  ),
  proxy: z.enum(PROXY_TYPES).meta({ description: 'Kind of proxy; `none` for requests under our own address.' }),
  ...ITEM_USAGE_FIELDS,
  refused: count('Answers with the status 429.'),
  blocked: count('Answers with the status 403.'),
});

export const usageSchema = z
  .object({
    ...ITEM_USAGE_FIELDS,
    proxy_bytes: count('Bytes up and down through proxies of any kind.'),
    refused: count('Answers with the status 429.'),
    blocked: count('Answers with the status 403.'),
    cost: amountOrNull(
      'What the proxies cost, by the prices that were configured when the job was created; null if a price is unknown.',
    ),
    by: list(usageRowSchema, 'The same by host and kind of proxy, most bytes first.'),
  })
  .meta({
    id: 'Usage',
    description:
      'What the finished attempts of the job sent and received, retries included. An attempt that a dead worker did not ' +
      'report is not counted.',
  });

const left = (what: string) => amountOrNull(`${what} left before the job is paused; null for no limit.`);

export const budgetSchema = z
  .object({
    requests_left: left('Requests'),
    bytes_left: left('Bytes'),
    proxy_bytes_left: left('Bytes through proxies'),
    cost_left: left('Cost'),
  })
  .meta({
    id: 'BudgetLeft',
    description: 'What is left of the budget in the policy. Items in progress are not counted yet.',
  });
