import { createConnection, type Socket } from 'node:net';
import type { Lane } from '../../../domain/lane.ts';
import { type Room, turnsSomeAway } from '../../../domain/slot-share.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { ReceiverRoom } from '../../../ports/work-queue.ts';
import type { Taken } from '../../../ports/work-source.ts';
import { FrameReader, ProtocolError } from './frame.ts';
import { Outbox } from './outbox.ts';
import { entriesOf, HELLO_MS, PROTOCOL_VERSION, readWelcome, receivedError } from './protocol.ts';
import type { CallAnswer, CallArguments, Method, Role } from './worker-calls.ts';

/** The owner cannot be reached, or not any more. It is unknown whether a call under way took effect. */
export class OwnerGone extends Error {
  constructor(reason: string) {
    super(`the owner of the ledger is gone: ${reason}`);
    this.name = 'OwnerGone';
  }
}

/** The owner refuses us, and will do so next time. */
export class OwnerRefused extends Error {
  override name = 'OwnerRefused';
}

export interface ConnectDeps {
  readonly socketPath: string;
  readonly workerId: string;
  readonly role: Role;
  readonly clock: Clock;
  /** Ends the attempt to connect; once there is a connection, `close` ends it. */
  readonly signal: AbortSignal;
}

/** Throws OwnerGone if there is no owner, which may change, and OwnerRefused, which will not. */
export async function openLine(deps: ConnectDeps): Promise<OwnerLine> {
  const socket = createConnection(deps.socketPath);
  const line = new OwnerLine(socket, deps.clock);
  const giveUp = new AbortController();
  const stop = () => line.cut('stopping');
  deps.signal.addEventListener('abort', stop, { once: true });
  if (deps.signal.aborted) stop();
  void deps.clock.sleep(HELLO_MS, giveUp.signal).then(() => {
    if (!giveUp.signal.aborted) line.cut('it does not answer');
  });
  try {
    await line.greet({ protocol: PROTOCOL_VERSION, worker: deps.workerId, role: deps.role });
  } finally {
    giveUp.abort();
    deps.signal.removeEventListener('abort', stop);
  }
  return line;
}

interface Call {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Calls that go out and answers that come in. When the line is cut, every open call is rejected. */
export class OwnerLine {
  readonly closed: Promise<string>;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #reader = new FrameReader();
  readonly #outbox: Outbox;
  readonly #calls = new Map<unknown, Call>();
  readonly #welcome = Promise.withResolvers<void>();
  #isWelcome = false;
  #lastId = 0;
  #reason: string | null = null;

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.#outbox = new Outbox(socket, 'calls', clock);
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    socket.on('data', (piece: Buffer) => this.#read(piece));
    socket.on('error', (error) => this.cut(error.message));
    socket.on('close', () => {
      this.cut('it closed the connection');
      resolve(this.#reason ?? '');
    });
  }

  greet(hello: { protocol: number; worker: string; role: Role }): Promise<void> {
    this.#outbox.sendNow(['hello', hello]);
    return this.#welcome.promise;
  }

  call<M extends Method>(method: M, ...args: CallArguments<M>): Promise<CallAnswer<M>> {
    return this.#call(method, args).answer as Promise<CallAnswer<M>>;
  }

  /** A call without an answer, sent with the next one. */
  tell<M extends Method>(method: M, ...args: CallArguments<M>): void {
    if (this.#reason !== null) throw new OwnerGone(this.#reason);
    if (!this.#outbox.addLater(JSON.stringify([0, method, ...args]))) throw new Error(`${method}: too large to send`);
  }

  /** May wait forever. When `signal` aborts it resolves to nothing, and `undo` gets what was on its way. */
  async take(
    { lane, room, leaseMs }: { readonly lane: Lane; readonly room: ReceiverRoom; readonly leaseMs: number },
    signal: AbortSignal,
    undo: (late: readonly Taken[]) => Promise<unknown>,
  ): Promise<readonly Taken[]> {
    if (signal.aborted) return [];
    const told = room.now();
    const { id, answer } = this.#call('take', [lane, told, leaseMs]);
    const ignoreRoom = room.onMore(this.#tellingRoom(id, room, told));
    const taken = answer as Promise<CallAnswer<'take'>>;
    const aborted = Promise.withResolvers<[]>();
    const cancel = () => {
      this.#outbox.add(`[0,"cancel",${id}]`);
      // It will not be worked on here. If that cannot be said any more, the owner sees that we are gone.
      taken.then(undo).catch(() => {});
      aborted.resolve([]);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await Promise.race([taken, aborted.promise]);
    } finally {
      ignoreRoom();
      signal.removeEventListener('abort', cancel);
    }
  }

  /** Sent once for everything that becomes free together, and only if the owner would otherwise refuse something. */
  #tellingRoom(id: number, room: ReceiverRoom, told: Room): () => void {
    let known = told;
    let isTelling = false;
    return () => {
      if (isTelling || !turnsSomeAway(known)) return;
      isTelling = true;
      queueMicrotask(() => {
        isTelling = false;
        known = room.now();
        if (this.#calls.has(id)) this.#outbox.add(JSON.stringify([0, 'room', id, known]));
      });
    };
  }

  cut(reason: string): void {
    this.#socket.destroy();
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#welcome.reject(new OwnerGone(reason));
    for (const { reject } of this.#calls.values()) reject(new OwnerGone(reason));
    this.#calls.clear();
  }

  async close(): Promise<void> {
    this.#outbox.sendNow(['bye']);
    this.#socket.end();
    const heard = new AbortController();
    void this.#clock.sleep(GOODBYE_MS, heard.signal).then(() => this.cut('closed'));
    await this.closed;
    heard.abort();
  }

  #call(method: Method, args: readonly unknown[]): { id: number; answer: Promise<unknown> } {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#reason !== null) reject(new OwnerGone(this.#reason));
    else if (!this.#outbox.add(JSON.stringify([id, method, ...args])))
      reject(new Error(`${method}: too large to send`));
    else this.#calls.set(id, { resolve, reject });
    return { id, answer: promise };
  }

  #read(piece: Buffer): void {
    try {
      for (const message of this.#reader.read(piece)) this.#hear(message);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.cut(error.message);
    }
  }

  #hear(message: unknown): void {
    if (!this.#isWelcome) {
      this.#hearWelcome(message);
      return;
    }
    const replies = entriesOf(message, 'replies');
    if (replies === null) throw new ProtocolError('something else than replies');
    for (const [id, answer, error] of replies) {
      const call = this.#calls.get(id);
      if (call === undefined) throw new ProtocolError('a reply to no call');
      this.#calls.delete(id);
      if (error === undefined) call.resolve(answer);
      else call.reject(receivedError(error));
    }
  }

  #hearWelcome(message: unknown): void {
    const { refused } = readWelcome(message);
    if (refused !== null) {
      this.#welcome.reject(new OwnerRefused(refused));
      this.cut(refused);
      return;
    }
    this.#isWelcome = true;
    this.#welcome.resolve();
  }
}

/** An owner that does not close its end by then is stuck, and sees a closed socket instead. */
const GOODBYE_MS = 2000;
