import type { Visit } from './web.ts';

/**
 * The door to a host: every hop of every visit passes here before it does anything there, so that no kind of scraper can go
 * round the scraper's list of hosts or the host gate. Answers how to leave. Rejects as `visit.checkHost` throws and as
 * `visit.gate.enter` rejects. `host` is `host` or `host:port`, as in the URL.
 */
export async function enterHost(
  { checkHost, gate, patienceMs, signal }: Pick<Visit, 'checkHost' | 'gate' | 'patienceMs' | 'signal'>,
  host: string,
): Promise<() => void> {
  checkHost(host);
  return gate.enter(host, patienceMs, signal);
}
