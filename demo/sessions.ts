import { randomInt } from 'node:crypto';

/** What the county remembers of a visitor between two requests. */
export interface Session {
  readonly id: string;
  /** Parcels of the last result list, in its order. */
  results: readonly number[];
  /** The parcel whose pages the visitor sees. */
  chosen: number | null;
}

export const SESSION_COOKIE = 'ASP.NET_SessionId';

/** The most recent visitors; one that is pushed out starts over, as after a restart of a real site. */
export class Sessions {
  readonly #byId = new Map<string, Session>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#byId.size;
  }

  find(id: string | undefined): Session | null {
    const session = id === undefined ? undefined : this.#byId.get(id);
    if (session === undefined) return null;
    // To the end of the line: a Map keeps the order in which its keys came.
    this.#byId.delete(session.id);
    this.#byId.set(session.id, session);
    return session;
  }

  open(): Session {
    const session: Session = { id: newId(), results: [], chosen: null };
    const [oldest] = this.#byId.size >= this.#most ? this.#byId.keys() : [];
    if (oldest !== undefined) this.#byId.delete(oldest);
    this.#byId.set(session.id, session);
    return session;
  }
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz012345';

function newId(): string {
  let id = '';
  for (let index = 0; index < 24; index += 1) id += LETTERS[randomInt(LETTERS.length)];
  return id;
}

/** The cookies of a request; of two with one name the first counts. */
export function readCookies(header: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=');
    const name = part.slice(0, at).trim();
    if (name !== '' && at > 0 && !cookies.has(name)) cookies.set(name, part.slice(at + 1).trim());
  }
  return cookies;
}
