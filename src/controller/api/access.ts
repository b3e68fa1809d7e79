import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { Problem } from '../../contract/problem.ts';

export type Access = 'read' | 'full';

/** Who may use the API. Keys are known by their hashes only; without any, whoever reaches the server may do everything. */
export interface Keys {
  /** Null when the key is none of ours. */
  accessOf(key: string): Access | null;
  readonly isEmpty: boolean;
}

const HASHED = /^sha256:([0-9a-f]{64})$/i;

/** Lists of keys, separated by commas: each as it is, or `sha256:` and its hash in hex. */
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
      // All of them, whichever fits: how long it takes tells nothing.
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
    const what = key === null ? 'Send a key' : 'The key is not known: send one that is';
    throw new Problem('unauthorized', `${what}, as X-API-Key or as Authorization: Bearer.`);
  }
  if (needed === 'full' && access === 'read') throw new Problem('forbidden', 'This needs a key that may also write.');
}

/**
 * A page of any web site can make a browser on this machine send requests here, and by a name that resolves to us it
 * could even read the answers. So the host must be one of ours, and a request that says it comes from a page must come
 * from one of ours.
 */
export function checkHost(host: string | null, allowed: AllowedHosts): void {
  const name = hostName(host);
  if (name !== null && allowed.has(name)) return;
  throw new Problem('forbidden_host', 'The Host header names none of the hosts of this server (TRAWL_ALLOWED_HOSTS).');
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

/** Loopback, the address it listens on, and what is named; with a key and nothing named, any host will do. */
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

/** Whether only programs of this machine reach a server that listens there. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** Without the port, in small letters; null for what is no host. */
function hostName(host: string | null): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? '');
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, '') ?? null;
}

function originHost(origin: string): string | null {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase() ?? null;
}
