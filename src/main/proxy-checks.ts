import { type Config, loadProxySettings } from '../config.ts';
import { showProxyServer } from '../domain/proxy-server.ts';
import { PROXY_SETTINGS, type ProxySettings } from '../domain/proxy-settings.ts';
import { chooseProxy, type ProxyWay } from '../domain/proxy-way.ts';
import { openWeb } from '../egress/open-web.ts';
import { DEFAULT_LIMITS, type Visit, type Web } from '../egress/web.ts';
import type { Clock } from '../ports/clock.ts';
import { OPEN_GATE } from '../ports/host-gate.ts';
import { type Check, ok, problem, warning } from './check.ts';
import { digest } from './digest.ts';
import { egressSettings } from './egress-settings.ts';

const NAME = 'Proxies';

/** A public site that is always available. */
const PROBE = 'https://example.com/';
const DEADLINES = { connectMs: 10_000, firstByteMs: 10_000, silenceMs: 10_000, totalMs: 15_000 };
/** Limit for a list: more would take long, and show little. */
const MAX_TRIED = 10;

/** What each configured kind of proxy answers. Kinds without any settings are not mentioned. */
export async function checkProxies(config: Config, clock: Clock, isOffline: boolean): Promise<readonly Check[]> {
  const { proxies, ...settings } = egressSettings(config);
  const given = loadProxySettings(config);
  const half = Object.entries(proxies.ways).flatMap(([type, way]) => {
    if (way.kind !== 'unusable' || !isBegun(type, given)) return [];
    return [warning(NAME, `${type}: ${way.problem}`, 'jobs with this kind of proxy stop at their first item')];
  });
  const sessions = Object.entries(proxies.ways).flatMap(([dialer, way]) =>
    sessionsOf(way).map(({ session, place }) => ({ exit: { dialer, session }, which: `${dialer}, at ${place}` })),
  );
  if (isOffline) return [...half, ...sessions.map(({ which }) => ok(NAME, `${which}: not tried`))];
  if (sessions.length === 0) return half;
  const web = openWeb({ ...settings, proxies, clock });
  try {
    const tries = sessions.map(({ which, exit }) => tryProxy(web, which, exit));
    return [...half, ...(await Promise.all(tries))];
  } finally {
    await web.close();
  }
}

/** One session for each proxy of a kind, and where it leads. */
function sessionsOf(way: ProxyWay): readonly { readonly session: string; readonly place: string }[] {
  if (way.kind === 'unusable') return [];
  const count = way.kind === 'list' ? Math.min(way.servers.length, MAX_TRIED) : 1;
  return Array.from({ length: count }, (_, at) => {
    const session = `doctor/${at}`;
    return { session, place: showProxyServer(chooseProxy(way, session, null, digest)) };
  });
}

/** Whether some of a type's own settings are set. */
function isBegun(type: string, settings: ProxySettings): boolean {
  const prefix = `PROXY_${type.toUpperCase()}_`;
  return Object.entries(PROXY_SETTINGS).some(
    ([key, { variable }]) => variable.startsWith(prefix) && settings[key as keyof ProxySettings] !== '',
  );
}

async function tryProxy(web: Web, which: string, exit: Visit['exit']): Promise<Check> {
  const visit: Visit = {
    ...{ exit, deadlines: DEADLINES, limits: DEFAULT_LIMITS, gate: OPEN_GATE, patienceMs: 0, sink: null },
    cookies: { header: () => null, keep: () => undefined },
    checkHost: () => undefined,
    signal: new AbortController().signal,
  };
  const end = await web.send({ method: 'GET', url: PROBE, headers: {}, body: null }, visit);
  if (end.kind === 'answer') return ok(NAME, `${which}: ${PROBE} answered ${end.status} in ${end.ms} ms`);
  const said = `${which}: ${end.failure.type}: ${end.failure.message}`;
  if (end.failure.type.startsWith('proxy_')) return problem(NAME, said, 'jobs with this kind of proxy cannot work');
  return warning(NAME, said, `the proxy was reached, but not ${PROBE} through it; try again`);
}
