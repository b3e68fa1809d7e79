import type { Visit } from './web.ts';

/**
 * The door to a host: every hop of every visit passes here first, so that no kind of scraper can bypass the scraper's
 * list of hosts, a site's robots.txt or the host gate. Returns the function that leaves the host. Rejects if
 * `visit.checkHost` throws, or if `visit.checkUrl` or `visit.gate.enter` rejects. `host` is `host` or `host:port`, as
 * in the URL.
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
