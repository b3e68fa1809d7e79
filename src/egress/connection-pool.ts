import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { ViaProxy } from './dialer.ts';
import { ConnectionGone } from './translate-error.ts';
import { WireCount } from './wire.ts';

/**
 * Connections that wait for their next request. A connection has a single user at a time, from before its request until the
 * end of the answer, so no answer can be mistaken for another's. It is given back only if the answer ended properly. Bytes
 * that a server sends after it, unasked, destroy the connection: undici accepts no answer without a request, and looks for
 * waiting bytes before it writes the next request. (Bytes that arrive later are that request's answer as far as HTTP/1.1 can
 * tell; they can only come from the server that was asked.)
 *
 * The key says which requests may share a connection: same dialer, same session as far as the dialer distinguishes them,
 * same origin, same endpoint.
 */
export class ConnectionPool {
  readonly #idle = new Map<string, Connection[]>();
  /** The same connections, longest waiting first. */
  readonly #waiting = new Set<Connection>();
  readonly #open = new Set<Connection>();
  readonly #limits: PoolLimits;

  constructor(limits: PoolLimits = { perPlace: 32, inAll: 256 }) {
    this.#limits = limits;
  }

  /** The most recently used one, so that the others can age and close. */
  take(key: string): Connection | null {
    const idle = this.#idle.get(key);
    for (let connection = idle?.pop(); connection !== undefined; connection = idle?.pop()) {
      this.#waiting.delete(connection);
      if (idle?.length === 0) this.#idle.delete(key);
      if (!connection.isClosed) return connection;
    }
    return null;
  }

  /** Adds a connection that has just been dialled for `origin`. */
  add(key: string, origin: string, socket: Socket, via: ViaProxy | null = null): Connection {
    const connection = new Connection(key, origin, socket, via);
    this.#open.add(connection);
    socket.once('close', () => {
      this.#open.delete(connection);
      this.#forget(connection);
    });
    return connection;
  }

  giveBack(connection: Connection): void {
    connection.isReused = true;
    // The server answered before the rest of the request was sent, which is still under way.
    if (connection.isClosed || connection.socket.writableLength > 0) {
      connection.destroy();
      return;
    }
    const idle = this.#idle.get(connection.key);
    if (idle === undefined) this.#idle.set(connection.key, [connection]);
    else idle.push(connection);
    this.#waiting.add(connection);
    if (idle !== undefined && idle.length > this.#limits.perPlace) this.#discard(idle[0]);
    if (this.#waiting.size > this.#limits.inAll) {
      const [oldest] = this.#waiting;
      this.#discard(oldest);
    }
  }

  async close(): Promise<void> {
    const closing = [...this.#open].map((connection) => connection.close());
    this.#idle.clear();
    this.#waiting.clear();
    await Promise.all(closing);
  }

  #discard(connection: Connection | undefined): void {
    if (connection === undefined) return;
    this.#forget(connection);
    connection.destroy();
  }

  #forget(connection: Connection): void {
    if (!this.#waiting.delete(connection)) return;
    const idle = this.#idle.get(connection.key);
    const at = idle?.indexOf(connection) ?? -1;
    if (idle === undefined || at < 0) return;
    idle.splice(at, 1);
    if (idle.length === 0) this.#idle.delete(connection.key);
  }
}

export interface PoolLimits {
  readonly perPlace: number;
  readonly inAll: number;
}

export class Connection {
  readonly key: string;
  readonly client: Client;
  readonly socket: Socket;
  /** Null for a connection on which only the target answers. */
  readonly via: ViaProxy | null;
  /** What its users have sent and received. */
  readonly bytes: WireCount;
  isReused = false;

  constructor(key: string, origin: string, socket: Socket, via: ViaProxy | null) {
    this.key = key;
    this.socket = socket;
    this.via = via;
    this.bytes = new WireCount(socket);
    // A user learns of errors through undici. Between two users they do not matter, but must not end the process.
    socket.on('error', () => undefined);
    let isTaken = false;
    this.client = new Client(origin, {
      pipelining: 1,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Our own deadlines are exact, and distinguish the steps.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Common servers close after five seconds. Closing first avoids sending into a connection that is being closed.
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      allowH2: false,
      connect: (_options, callback) => {
        // A client whose connection is gone would dial again, bypassing the address rules.
        if (isTaken) queueMicrotask(() => callback(new ConnectionGone(), null));
        else queueMicrotask(() => callback(null, socket));
        isTaken = true;
      },
    });
  }

  get isClosed(): boolean {
    return this.socket.destroyed;
  }

  destroy(): void {
    this.client.destroy(() => undefined);
    // The client only knows its socket after the first request.
    this.socket.destroy();
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.socket.closed) resolve();
    else this.socket.once('close', () => resolve());
    this.destroy();
    await promise;
  }
}

const IDLE_MS = 4000;

/** Generous: some sites send a policy of 20 KB with each page. */
const MAX_HEADER_BYTES = 64 * 1024;
