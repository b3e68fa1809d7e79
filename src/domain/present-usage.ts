import type { AttemptRecord } from './item.ts';
import { costOf, NO_PRICES, type Prices } from './prices.ts';
import { totalUsage, type Usage, type UsageRow } from './usage.ts';

/** Usage as users see it, in the API and in `job_metadata.json`. */
export function presentUsage({ usage, prices = NO_PRICES }: { readonly usage: Usage; readonly prices?: Prices }) {
  const { requests, bytesUp, bytesDown, proxyBytes, refused, blocked } = totalUsage(usage);
  const by = [...usage].sort((one, other) => bytesOf(other) - bytesOf(one));
  return {
    requests,
    bytes_up: bytesUp,
    bytes_down: bytesDown,
    proxy_bytes: proxyBytes,
    refused,
    blocked,
    cost: costOf(usage, prices),
    by: by.map(presentRow),
  };
}

function presentRow({ host, proxy, requests, bytesUp, bytesDown, refused, blocked }: UsageRow) {
  return { host, proxy, requests, bytes_up: bytesUp, bytes_down: bytesDown, refused, blocked };
}

function bytesOf({ bytesUp, bytesDown }: UsageRow): number {
  return bytesUp + bytesDown;
}

/** Usage of one attempt, or of all listed attempts of an item together. */
export function presentAttemptUsage(attempts: readonly Pick<AttemptRecord, 'usage'>[]) {
  let [requests, up, down] = [0, 0, 0];
  for (const { usage } of attempts) {
    if (usage === undefined) continue;
    requests += usage[0];
    up += usage[1];
    down += usage[2];
  }
  return { requests, bytes_up: up, bytes_down: down };
}
