import type { Socket } from 'node:net';
import type { Counting } from '../domain/usage.ts';

/** What each TLS connection runs over. */
const CARRIERS = new WeakMap<Socket, Socket>();

export function noteCarrier(secured: Socket, carrier: Socket): void {
  CARRIERS.set(secured, carrier);
}

/** The socket whose bytes are on the wire: a TLS socket only counts what is inside. */
function wireOf(socket: Socket): Socket {
  let wire = socket;
  for (let next = CARRIERS.get(wire); next !== undefined; next = CARRIERS.get(wire)) wire = next;
  return wire;
}

/** Bytes that have passed over one socket and are not counted yet. */
export class WireCount {
  readonly #wire: Socket;
  #up = 0;
  #down = 0;

  constructor(socket: Socket) {
    this.#wire = wireOf(socket);
  }

  /** Adds what has passed since the last call. */
  addTo(counting: Counting): void {
    const { bytesWritten, bytesRead } = this.#wire;
    counting.bytesUp += bytesWritten - this.#up;
    counting.bytesDown += bytesRead - this.#down;
    this.#up = bytesWritten;
    this.#down = bytesRead;
  }
}
