import type { Visit } from './web.ts';

/**
 * The door to a host: every hop of every visit passes here before it does anything there, so that no kind of scraper can go
 * round the scraper's list of hosts, a site's robots.txt or the host gate. Returns how to leave. Rejects as `visit.checkHost`
 * throws, and as `visit.checkUrl` and `visit.gate.enter` reject. `host` is `host` or `host:port`, as in the URL.
 */
export async function enterHost(
  visit: Pick<Visit, 'checkHost' | 'checkUrl' | 'gate' | 'patienceMs' | 'signal'>,
  host: string,
  url: string,
): Promise<() => void> {
  const { checkHost, checkUrl, gate, patienceMs, signal } = visit;
  checkHost(host);
  if (checkUrl !== undefined) await checkUrl(url);
  return gate.enter(host, patienceMs, signal);
}
