import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { Problem } from '../../contract/problem.ts';

export type Access = 'read' | 'full';

/** Who may use the API. Only hashes of keys are kept; without any key, every client has full access. */
export interface Keys {
  /** Null if the key is unknown. */
  accessOf(key: string): Access | null;
  readonly isEmpty: boolean;
}

const HASHED = /^sha256:([0-9a-f]{64})$/i;

/** Parses comma-separated lists of keys, each in plain text or as `sha256:` followed by its hash in hex. */
export function parseKeys(full: string | null, read: string | null): Keys {
  const known = [
    ...hashesIn(full).map((hash) => ({ hash, access: 'full' as const })),
    ...hashesIn(read).map((hash) => ({ hash, access: 'read' as const })),
  ];
  return {
    isEmpty: known.length === 0,
    accessOf(key) {
      const hash = createHash('sha256').update(key).digest();
      let access: Access | null = null;
      // Compares with all of them, so that the time taken reveals nothing.
      for (const each of known) if (timingSafeEqual(each.hash, hash)) access = access === 'full' ? access : each.access;
      return access;
    },
  };
}

function hashesIn(list: string | null): Buffer[] {
  return (list ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')
    .map((key) => {
      const hex = HASHED.exec(key)?.[1];
      return hex === undefined ? createHash('sha256').update(key).digest() : Buffer.from(hex, 'hex');
    });
}

/** `X-API-Key`, or `Authorization: Bearer`. */
export function keyIn(header: (name: string) => string | null): string | null {
  const bearer = /^Bearer +(\S+) *$/i.exec(header('authorization') ?? '')?.[1];
  return header('x-api-key') ?? bearer ?? null;
}

export function mayPass(keys: Keys, needed: Access | 'open', key: string | null): void {
  if (needed === 'open' || keys.isEmpty) return;
  const access = key === null ? null : keys.accessOf(key);
  if (access === null) {
    const what = key === null ? 'No API key was sent' : 'The API key is not valid';
    throw new Problem('unauthorized', `${what}: send one as X-API-Key or as Authorization: Bearer.`);
  }
  if (needed === 'full' && access === 'read')
    throw new Problem('forbidden', 'This operation needs a key with write access.');
}

/**
 * Any web page can make a browser on this machine send requests here, and with a host name that resolves to us it could
 * even read the answers. So the Host header must name one of our hosts, and a request from a page must come from our
 * own.
 */
export function checkHost(host: string | null, allowed: AllowedHosts): void {
  const name = hostName(host);
  if (name !== null && allowed.has(name)) return;
  throw new Problem('forbidden_host', 'The Host header does not name this server: see TRAWL_ALLOWED_HOSTS.');
}

export function checkOrigin(origin: string | null, host: string | null, fetchSite: string | null): void {
  if (origin !== null && originHost(origin) !== host?.toLowerCase()) {
    throw new Problem('forbidden_origin', 'Pages of other sites may not use this server.');
  }
  if (origin === null && fetchSite !== null && !['same-origin', 'none'].includes(fetchSite)) {
    throw new Problem('forbidden_origin', 'Pages of other sites may not use this server.');
  }
}

export interface AllowedHosts {
  has(name: string): boolean;
}

/** Loopback, the listening address and the configured names; any host if there is a key and no name is configured. */
export function allowedHosts(settings: {
  readonly host: string;
  readonly names: readonly string[];
  readonly hasKeys: boolean;
}): AllowedHosts {
  const names = new Set([...LOOPBACK_NAMES, settings.host, ...settings.names].map((name) => name.toLowerCase()));
  const any = settings.hasKeys && settings.names.length === 0;
  return { has: (name) => any || names.has(name) };
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '::1'];

/** Whether a server that listens there can only be reached from this machine. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** Without the port, in lower case; null if it is not a host. */
function hostName(host: string | null): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? '');
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, '') ?? null;
}

function originHost(origin: string): string | null {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase() ?? null;
}
