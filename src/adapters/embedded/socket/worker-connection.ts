import type { Socket } from 'node:net';
import { z } from 'zod';
import { ChangingRoom } from '../../../domain/changing-room.ts';
import type { Lane } from '../../../domain/lane.ts';
import type { Room } from '../../../domain/slot-share.ts';
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
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import type { Delivery, WorkerQueue } from '../../../ports/work-queue.ts';
import type { Taken } from '../../../ports/work-source.ts';
import { BadCall, room } from './call-arguments.ts';
import { FrameReader, ProtocolError } from './frame.ts';
import { Outbox } from './outbox.ts';
import { entriesOf, HELLO_MS, PROTOCOL_VERSION, sendableError } from './protocol.ts';
import { type CallContext, findCall, type Role, UNANSWERED } from './worker-calls.ts';

const helloSchema = z.tuple([
  z.literal('hello'),
  z.object({ protocol: z.number(), worker: z.string().min(1).max(200), role: z.enum(['main', 'heartbeat']) }),
]);

/** No worker has this many calls open at once; beyond it we stop reading, and the worker has to wait. */
const MAX_OPEN_CALLS = 20_000;

/** How a killed process ends; nothing is wrong with the connection. */
export const WITHOUT_A_WORD = 'it closed without a word';

interface ConnectionDeps {
  readonly ledger: WorkerLeases;
  readonly queue: WorkerQueue;
  readonly hostPauses: WorkerHostPauses;
  readonly hostSettings: WorkerHostSettings;
  readonly hostShares: HostShares;
  readonly hostRecords: WorkerHostRecords;
  readonly stepRecords: WorkerStepRecords;
  readonly itemWaits: WorkerItemWaits;
  readonly siteData: WorkerSiteData;
  readonly recordings: WorkerRecordings;
  readonly clock: Clock;
  readonly onGreeted: (connection: WorkerConnection) => void;
  readonly onStorageTrouble: (trouble: StorageTrouble) => void;
  /** Something that a worker said was not recorded, and the worker does not know. */
  readonly onLostCall: (connection: WorkerConnection, error: unknown) => void;
}

/**
 * The owner's end of one connection. It is
 *
 *   greeting   until the other side has said who it is
 *   serving    calls come in, replies go out
 *   ended      the socket is closed; calls that are under way come to their end, and then `ended` resolves
 *
 * Whatever the other side sends or fails to send, it can end only its own connection.
 */
export class WorkerConnection {
  /** Why it ended, once nothing of it is under way any more. */
  readonly ended: Promise<string>;
  readonly #socket: Socket;
  readonly #deps: ConnectionDeps;
  readonly #reader = new FrameReader();
  readonly #outbox: Outbox;
  readonly #receives = new Map<unknown, { readonly cancel: AbortController; readonly room: ChangingRoom }>();
  readonly #receipts = new Set<string>();
  readonly #closed = new AbortController();
  #who: { readonly worker: string; readonly role: Role } | null = null;
  #context: CallContext | null = null;
  #lane: Lane | null = null;
  #saidBye = false;
  #reason: string | null = null;
  #openCalls = 0;
  #whenIdle: (() => void) | null = null;

  constructor(socket: Socket, deps: ConnectionDeps) {
    this.#socket = socket;
    this.#deps = deps;
    this.#outbox = new Outbox(socket, 'replies', deps.clock);
    this.ended = this.#end();
    socket.on('data', (piece: Buffer) => this.#read(piece));
    socket.on('drain', () => this.#readOn());
    void deps.clock.sleep(HELLO_MS, this.#closed.signal).then(() => {
      if (this.#who === null) this.cut('no hello arrived');
    });
  }

  get who(): { readonly worker: string; readonly role: Role } | null {
    return this.#who;
  }

  /** The lane that it serves; null until it has asked for work. */
  get lane(): Lane | null {
    return this.#lane;
  }

  /** Whether the worker said that it has no leases left. */
  get saidBye(): boolean {
    return this.#saidBye;
  }

  /** Deliveries that it received and neither acknowledged nor gave back. */
  get unfinished(): readonly string[] {
    return [...this.#receipts];
  }

  cut(reason: string): void {
    this.#reason ??= reason;
    this.#socket.destroy();
  }

  async #end(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.on('error', (error) => this.cut(error.message));
    this.#socket.on('close', () => resolve());
    await promise;
    this.#closed.abort();
    for (const { cancel } of this.#receives.values()) cancel.abort();
    if (this.#openCalls > 0) await new Promise<void>((idle) => (this.#whenIdle = idle));
    if (this.#reader.isInsideFrame) this.#reason ??= 'it ended in the middle of a frame';
    return this.#reason ?? (this.#saidBye ? 'bye' : WITHOUT_A_WORD);
  }

  #read(piece: Buffer): void {
    try {
      for (const message of this.#reader.read(piece)) this.#hear(message);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.cut(error.message);
    }
    if (this.#outbox.isBlocked || this.#openCalls > MAX_OPEN_CALLS) this.#socket.pause();
  }

  #readOn(): void {
    if (!this.#outbox.isBlocked && this.#openCalls <= MAX_OPEN_CALLS) this.#socket.resume();
  }

  #hear(message: unknown): void {
    // Refused, cut off, or gone by its own wish: whatever it said after that is not heard.
    if (!this.#socket.writable) return;
    if (this.#who === null) {
      this.#greet(message);
      return;
    }
    const calls = entriesOf(message, 'calls');
    if (calls !== null) {
      for (const [id, method, ...args] of calls) this.#hearCall(id as number, method, args);
      return;
    }
    if (!Array.isArray(message) || message[0] !== 'bye') throw new ProtocolError('neither calls nor bye');
    this.#saidBye = true;
    this.#socket.end();
  }

  #greet(message: unknown): void {
    const hello = helloSchema.safeParse(message);
    if (!hello.success) throw new ProtocolError('it did not begin with hello');
    const { protocol, worker, role } = hello.data[1];
    if (protocol !== PROTOCOL_VERSION) {
      const reason = `this owner speaks protocol ${PROTOCOL_VERSION}, the worker ${protocol}: run the same version`;
      this.#outbox.sendNow(['refuse', reason]);
      this.#reason = reason;
      this.#socket.end();
      return;
    }
    this.#who = { worker, role };
    this.#context = this.#contextOf(worker);
    this.#outbox.sendNow(['welcome', { protocol: PROTOCOL_VERSION }]);
    this.#deps.onGreeted(this);
  }

  #hearCall(id: number, method: unknown, args: readonly unknown[]): void {
    if (method === 'cancel') this.#receives.get(args[0])?.cancel.abort();
    else if (method === 'room') this.#changeRoom(args);
    else if (id === 0) void this.#obey(method, args);
    else void this.#answer(id, method, args);
  }

  /** A call whose worker does not wait for the answer. It can be lost without harm, but not unnoticed. */
  async #obey(method: unknown, args: readonly unknown[]): Promise<void> {
    this.#openCalls += 1;
    try {
      if (!UNANSWERED.has(method)) throw new BadCall(`${String(method)} needs an answer`);
      await this.#carryOut(0, method, args);
    } catch (error) {
      if (error instanceof StorageTrouble) this.#deps.onStorageTrouble(error);
      else if (error instanceof BadCall) this.cut(error.message);
      else this.#deps.onLostCall(this, error);
    }
    this.#callEnded();
  }

  async #answer(id: number, method: unknown, args: readonly unknown[]): Promise<void> {
    this.#openCalls += 1;
    let entry: string;
    try {
      const answer = await this.#carryOut(id, method, args);
      entry = answer === undefined ? `[${id}]` : `[${id},${JSON.stringify(answer)}]`;
    } catch (error) {
      if (error instanceof StorageTrouble) this.#deps.onStorageTrouble(error);
      entry = `[${id},null,${JSON.stringify(sendableError(error))}]`;
    }
    if (!this.#outbox.add(entry)) {
      this.#outbox.add(
        `[${id},null,${JSON.stringify(sendableError(new Error('the answer is too large to be sent')))}]`,
      );
    }
    this.#callEnded();
  }

  #callEnded(): void {
    this.#openCalls -= 1;
    if (this.#openCalls === 0) this.#whenIdle?.();
    if (this.#socket.isPaused()) this.#readOn();
  }

  async #carryOut(id: number, method: unknown, args: readonly unknown[]): Promise<unknown> {
    const call = this.#who && findCall(method, this.#who.role);
    if (!call || this.#context === null) throw new BadCall(`there is no method ${String(method)}`);
    return await call.carryOut(this.#context, args, id);
  }

  #contextOf(worker: string): CallContext {
    const { ledger, queue, itemWaits, siteData, recordings } = this.#deps;
    const { hostPauses, hostSettings, hostShares, hostRecords, stepRecords } = this.#deps;
    return {
      ...{ worker, ledger, queue, itemWaits, siteData, recordings },
      ...{ hostPauses, hostSettings, hostShares, hostRecords, stepRecords },
      take: (...args) => this.#take(worker, ...args),
      finish: (receipts) => this.#finish(receipts),
    };
  }

  /** Claimed even if the worker is gone by now: then it is abandoned with everything else that it has. */
  async #take(worker: string, id: number, lane: Lane, theirs: Room, leaseMs: number): Promise<readonly Taken[]> {
    const { ledger, clock } = this.#deps;
    const deliveries = await this.#receive(id, lane, theirs, leaseMs);
    if (deliveries.length === 0) return [];
    const now = clock.now();
    const refs = deliveries.map(({ ref }) => ref);
    const answers = await ledger.claim(refs, worker, now + leaseMs, now);
    return deliveries.flatMap((delivery, index) => {
      const answer = answers[index];
      return answer === undefined ? [] : [{ delivery, answer }];
    });
  }

  async #receive(id: number, lane: Lane, theirs: Room, hideMs: number): Promise<readonly Delivery[]> {
    const cancel = new AbortController();
    if (this.#closed.signal.aborted) cancel.abort();
    const remote = new ChangingRoom(theirs);
    this.#lane = lane;
    this.#receives.set(id, { cancel, room: remote });
    try {
      const deliveries = await this.#deps.queue.receive(lane, remote, hideMs, cancel.signal);
      for (const { receipt } of deliveries) this.#receipts.add(receipt);
      return deliveries;
    } finally {
      this.#receives.delete(id);
    }
  }

  /** For a call that was answered meanwhile it comes too late, and the next call says it. */
  #changeRoom([id, what]: readonly unknown[]): void {
    try {
      this.#receives.get(id)?.room.change(room(what));
    } catch (error) {
      if (!(error instanceof BadCall)) throw error;
      this.cut(error.message);
    }
  }

  #finish(receipts: readonly string[]): readonly string[] {
    for (const receipt of receipts) this.#receipts.delete(receipt);
    return receipts;
  }
}
