import { Problem } from '../../contract/problem.ts';
import { withOperatorPauses } from '../../domain/host-settings.ts';
import { parsePageUrl } from '../../domain/site-url.ts';
import type { ApiDeps } from './api-deps.ts';

/** What workers may not ask now is a problem for a request that waits for it. */
export async function checkPause(
  { hostPauses, hostSettings, clock }: Pick<ApiDeps, 'hostPauses' | 'hostSettings' | 'clock'>,
  url: string,
): Promise<void> {
  const { host } = new URL(parsePageUrl(url)?.href ?? url);
  const now = clock.now();
  const [asked, settings] = await Promise.all([hostPauses.inForce(now), hostSettings.get(host)]);
  const pauses = withOperatorPauses(asked, settings === null ? [] : [settings], now);
  const pause = pauses.find((each) => each.host === host);
  if (pause === undefined) return;
  const until = new Date(pause.until).toISOString();
  throw new Problem('page_not_read', `${host} is paused until ${until}: ${pause.reason}.`);
}
