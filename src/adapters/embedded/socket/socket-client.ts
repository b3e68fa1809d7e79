import { createConnection, type Socket } from 'node:net';
import type { Lane } from '../../../domain/lane.ts';
import { type Room, turnsSomeAway } from '../../../domain/slot-share.ts';
import { NO_USAGE } from '../../../domain/usage.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { WorkerHostPauses } from '../../../ports/host-pauses.ts';
import type { WorkerHostRecords } from '../../../ports/host-records.ts';
import type { WorkerHostSettings } from '../../../ports/host-settings.ts';
import type { HostShares } from '../../../ports/host-shares.ts';
import type { WorkerItemWaits } from '../../../ports/item-waits.ts';
import type { WorkerRecordings } from '../../../ports/kept-recordings.ts';
import type { WorkerLeases } from '../../../ports/ledger.ts';
import type { WorkerSiteData } from '../../../ports/site-data.ts';
import type { WorkerStepRecords } from '../../../ports/step-records.ts';
import type { ReceiverRoom, WorkerQueue } from '../../../ports/work-queue.ts';
import type { Taken, WorkSource } from '../../../ports/work-source.ts';
import { FrameReader, ProtocolError } from './frame.ts';
import { Outbox } from './outbox.ts';
import { entriesOf, HELLO_MS, PROTOCOL_VERSION, receivedError, welcomeSchema } from './protocol.ts';
import { sentReports } from './sent-reports.ts';
import { sentSteps } from './sent-steps.ts';
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

export interface OwnerConnection {
  readonly leases: Omit<WorkerLeases, 'claim'>;
  readonly queue: Pick<WorkerQueue, 'ack' | 'extend'>;
  readonly source: WorkSource;
  readonly hostPauses: WorkerHostPauses;
  readonly hostSettings: WorkerHostSettings;
  readonly hostShares: HostShares;
  readonly hostRecords: WorkerHostRecords;
  readonly stepRecords: WorkerStepRecords;
  readonly itemWaits: WorkerItemWaits;
  readonly siteData: WorkerSiteData;
  readonly recordings: WorkerRecordings;
  /** Resolves with the reason when the connection has ended, on either side. */
  readonly closed: Promise<string>;
  /** Says goodbye, which means that the worker has no leases left, and waits until the owner has received it. */
  close(): Promise<void>;
}

interface ConnectDeps {
  readonly socketPath: string;
  readonly workerId: string;
  readonly role: Role;
  readonly clock: Clock;
  /** Ends the attempt to connect; once there is a connection, `close` ends it. */
  readonly signal: AbortSignal;
}

/** Throws OwnerGone if there is no owner, which may change, and OwnerRefused, which will not. */
export async function connectToOwner(deps: ConnectDeps): Promise<OwnerConnection> {
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
  const leases = leasesOver(line);
  return {
    leases,
    queue: queueOver(line),
    source: sourceOver(line, leases, deps.clock),
    hostPauses: pausesOver(line, deps.workerId),
    hostSettings: { list: () => line.call('hostSettings') },
    hostShares: sharesOver(line, deps.workerId),
    hostRecords: { report: (reports) => line.call('reportSeen', sentReports(reports)) },
    stepRecords: { report: (reports) => line.call('reportSteps', sentSteps(reports)) },
    itemWaits: { add: (waits, _worker, now) => line.call('addWaits', waits, now) },
    siteData: siteDataOver(line),
    recordings: { get: (key) => line.call('recording', key) },
    closed: line.closed,
    close: () => line.close(),
  };
}

function leasesOver(line: OwnerLine): OwnerConnection['leases'] {
  return {
    workOrder: (jobId) => line.call('workOrder', jobId),
    begin: (token, seq) => line.call('begin', token, seq),
    renew: (tokens, until) => line.call('renew', tokens, until),
    settle: (parts, now) => line.call('settle', parts, now),
    reportControl: (jobId, report, now) => line.call('reportControl', jobId, report, now),
    release: (token, because, now, usage = NO_USAGE) => line.call('release', token, because, now, usage),
  };
}

function sourceOver(line: OwnerLine, leases: OwnerConnection['leases'], clock: Clock): WorkSource {
  const undo = async (late: readonly Taken[]) => {
    const held = late.flatMap(({ answer }) => (typeof answer === 'object' ? [answer.token] : []));
    await Promise.all(held.map((token) => leases.release(token, 'drained', clock.now())));
    await line.call(
      'ack',
      late.map(({ delivery }) => delivery.receipt),
    );
  };
  return {
    take: (lane, room, leaseMs, signal) => line.take({ lane, room, leaseMs }, signal, undo),
  };
}

/**
 * Batches that are settled together end together. Their acknowledgements go in one call, which costs as much as one.
 */
function queueOver(line: OwnerLine): OwnerConnection['queue'] {
  let gathered: string[] = [];
  let sending: Promise<void> | null = null;
  const sendGathered = async () => {
    // When everything that the present event set off has come to rest, as in Outbox.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    const receipts = gathered;
    gathered = [];
    sending = null;
    await line.call('ack', receipts);
  };
  return {
    extend: (receipts, hideMs) => line.call('extend', receipts, hideMs),
    ack(receipts) {
      gathered.push(...receipts);
      sending ??= sendGathered();
      return sending;
    },
  };
}

function pausesOver(line: OwnerLine, workerId: string): WorkerHostPauses {
  return {
    async pause(report, worker, now) {
      if (worker !== workerId) throw new Error(`this connection is that of worker ${workerId}, not of ${worker}`);
      await line.call('pauseHost', report, now);
    },
    inForce: (now) => line.call('hostPauses', now),
  };
}

function sharesOver(line: OwnerLine, workerId: string): HostShares {
  return {
    async reserve(worker, asks, now) {
      if (worker !== workerId) throw new Error(`this connection is that of worker ${workerId}, not of ${worker}`);
      return await line.call('reserve', asks, now);
    },
  };
}

function siteDataOver(line: OwnerLine): WorkerSiteData {
  return {
    sites: { get: (id) => line.call('site', id) },
    pages: {
      look: (keys) => line.call('cachedPages', keys),
      note: (news) => line.call('notePages', news),
      // The owner carries out what it hears in order.
      tell: async (news) => line.tell('notePages', news),
    },
    errors: { look: (pages) => line.call('pathErrors', pages), note: (news) => line.call('notePaths', news) },
    turns: { take: (wish) => line.call('takeTurn', wish) },
  };
}

interface Call {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Calls that go out and answers that come in. When the line is cut, every open call is rejected. */
class OwnerLine {
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
    const welcome = welcomeSchema.safeParse(message);
    if (!welcome.success) throw new ProtocolError('it did not begin with welcome');
    if (welcome.data[0] === 'refuse') {
      this.#welcome.reject(new OwnerRefused(welcome.data[1]));
      this.cut(welcome.data[1]);
      return;
    }
    this.#isWelcome = true;
    this.#welcome.resolve();
  }
}

/** An owner that does not close its end by then is stuck, and sees a closed socket instead. */
const GOODBYE_MS = 2000;
