import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { EmbeddedHostPauses } from '../../src/adapters/embedded/host-pauses.ts';
import { EmbeddedItemWaits } from '../../src/adapters/embedded/item-waits.ts';
import { encodeFrame, FrameReader } from '../../src/adapters/embedded/socket/frame.ts';
import { PROTOCOL_VERSION } from '../../src/adapters/embedded/socket/protocol.ts';
import { connectToOwner, type OwnerConnection } from '../../src/adapters/embedded/socket/socket-client.ts';
import {
  type ServeDeps,
  serveWorkers,
  type WorkerEvent,
  type WorkerServer,
} from '../../src/adapters/embedded/socket/socket-server.ts';
import { EmbeddedWorkQueue } from '../../src/adapters/embedded/work-queue.ts';
import type { BatchRef } from '../../src/ports/work-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryHostSettings } from '../support/memory/host-settings.ts';
import { openMemoryHostShares } from '../support/memory/host-shares.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';
import { openMemorySiteData } from '../support/memory/site-data.ts';

/** An owner with a real socket, a real queue and a ledger that says yes to everything and remembers it. */
export class TestOwner {
  readonly folder: string;
  readonly clock = new FakeClock();
  readonly queue: EmbeddedWorkQueue;
  /** What reached the ledger: method and arguments. */
  readonly heard: [string, ...unknown[]][] = [];
  readonly events: WorkerEvent[] = [];
  readonly itemWaits = new EmbeddedItemWaits();
  readonly #listeners = new Set<() => void>();
  readonly #sockets: Socket[] = [];
  server: WorkerServer | null = null;

  constructor(folder: string) {
    this.folder = folder;
    this.queue = new EmbeddedWorkQueue(this.clock);
  }

  get socketPath(): string {
    return join(this.folder, 'trawl.sock');
  }

  async serve(ledger: Partial<ServeDeps['ledger']> = {}): Promise<void> {
    const note = (name: string, args: unknown[]) => {
      this.heard.push([name, ...args]);
      this.#tell();
    };
    const yes: ServeDeps['ledger'] = {
      claim: async (refs) => refs.map(() => 'gone' as const),
      workOrder: async () => null,
      begin: async () => true,
      renew: async () => [],
      settle: async (parts) => parts.map(() => 'recorded' as const),
      release: async () => true,
      reportControl: async () => {},
      abandon: async () => 1,
      ...ledger,
    };
    const noted = new Proxy(yes, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => {
          note(String(name), args);
          return method(...args);
        };
      },
    });
    const { queue, clock, socketPath } = this;
    const onWorker = (event: WorkerEvent) => {
      this.events.push(event);
      this.#tell();
    };
    this.server = await serveWorkers({
      hostPauses: new EmbeddedHostPauses(),
      hostSettings: openMemoryHostSettings(),
      hostShares: openMemoryHostShares(),
      hostRecords: { report: async (reports) => note('report', [reports]) },
      stepRecords: { report: async (reports) => note('reportSteps', [reports]) },
      itemWaits: this.itemWaits,
      siteData: openMemorySiteData().siteData,
      recordings: openMemoryRecordings().recordings,
      ledger: noted,
      queue,
      socketPath,
      clock,
      onWorker,
    });
  }

  worker(workerId = 'worker-1', role: 'main' | 'heartbeat' = 'main'): Promise<OwnerConnection> {
    const { socketPath, clock } = this;
    return connectToOwner({ socketPath, workerId, role, clock, signal: new AbortController().signal });
  }

  /** A peer that may say anything. */
  async stranger(): Promise<Stranger> {
    const socket = connect(this.socketPath);
    this.#sockets.push(socket);
    const stranger = new Stranger(socket);
    await stranger.connected;
    return stranger;
  }

  /** Resolves when `isSo`; a test that waits in vain fails by its time limit. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#listeners.add(resolve);
      await promise;
      this.#listeners.delete(resolve);
    }
  }

  calls(method: string): unknown[][] {
    return this.heard.filter(([name]) => name === method).map(([, ...args]) => args);
  }

  async left(worker = 'worker-1'): Promise<Extract<WorkerEvent, { kind: 'worker-left' }>> {
    const isIt = (event: WorkerEvent) => event.kind === 'worker-left' && event.worker === worker;
    await this.until(() => this.events.some(isIt));
    return this.events.find(isIt) as Extract<WorkerEvent, { kind: 'worker-left' }>;
  }

  async trouble(): Promise<string> {
    await this.until(() => this.events.some(({ kind }) => kind === 'connection-trouble'));
    const found = this.events.find((event) => event.kind === 'connection-trouble');
    return found?.reason ?? '';
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.server?.close();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

export class Stranger {
  readonly connected: Promise<void>;
  readonly closed: Promise<void>;
  readonly heard: unknown[] = [];
  readonly socket: Socket;
  readonly #reader = new FrameReader();
  #wake = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.socket = socket;
    this.connected = new Promise((resolve) => socket.once('connect', resolve));
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => {
      this.heard.push(...this.#reader.read(piece));
      this.#wake.resolve();
      this.#wake = Promise.withResolvers();
    });
  }

  say(...messages: readonly unknown[]): void {
    this.socket.write(framesOf(...messages));
  }

  async hears(count: number): Promise<readonly unknown[]> {
    while (this.heard.length < count) await this.#wake.promise;
    return this.heard;
  }
}

export function framesOf(...messages: readonly unknown[]): Buffer {
  return Buffer.concat(messages.map((message) => encodeFrame(JSON.stringify(message))));
}

export function helloOf(worker: string): unknown {
  return ['hello', { protocol: PROTOCOL_VERSION, worker, role: 'main' }];
}

/** A test with an owner that is closed whatever happens. */
export function withOwner(
  name: string,
  body: (owner: TestOwner) => Promise<void>,
  ledger: Partial<ServeDeps['ledger']> = {},
): void {
  test(name, { timeout: 120_000 }, async (context) => {
    const owner = new TestOwner(await mkdtemp(join(tmpdir(), 'trawl-socket-')));
    // This also runs when the time is over and the body still waits.
    context.after(async () => {
      await owner.close();
      await rm(owner.folder, { recursive: true, force: true });
    });
    await owner.serve(ledger);
    await body(owner);
  });
}

export function batches(...ids: readonly string[]): BatchRef[] {
  return ids.map((batchId) => ({ jobId: 'job-1', batchId, lane: 'http' }));
}
