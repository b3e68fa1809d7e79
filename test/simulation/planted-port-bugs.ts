import { hash } from 'node:crypto';
import type { ItemRecord } from '../../src/domain/item.ts';
import type { ClaimAnswer, Page, WorkerLeases } from '../../src/ports/ledger.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import type { ReceiverRoom } from '../../src/ports/work-queue.ts';
import type { ControllerPorts, WorkerPorts } from './plant.ts';

/** Mistakes of workers and controllers, made where they would show: at their ports. */

export function acksWhenItClaims({ leases, queue }: WorkerPorts): Partial<WorkerPorts> {
  const receipts = new Map<string, string>();
  return {
    queue: {
      ...queue,
      async receive(lane, room, hideMs, signal) {
        const deliveries = await queue.receive(lane, room, hideMs, signal);
        for (const { ref, receipt } of deliveries) receipts.set(ref.batchId, receipt);
        return deliveries;
      },
    },
    leases: {
      ...leases,
      async claim(refs, worker, until, now) {
        const answers = await leases.claim(refs, worker, until, now);
        await queue.ack(refs.flatMap(({ batchId }) => receipts.get(batchId) ?? [])).catch(() => {});
        return answers;
      },
    },
  };
}

/** Answers at once, and writes a little later. */
export function writesBytesLate({ store, clock }: Pick<WorkerPorts, 'store' | 'clock'>): { store: ResultStore } {
  return {
    store: {
      ...store,
      async put(key, body, how) {
        void clock.sleep(100).then(() => store.put(key, body, how).catch(() => {}));
        if (!(body instanceof Uint8Array)) throw new Error('scripts keep no drafts');
        return { key, size: body.length, sha256: hash('sha256', body), encoding: how.encoding };
      },
    },
  };
}

/** Settles concurrently with the work, and does not wait for that before the batch is over. */
export function settlesTooLate({ leases, clock }: Pick<WorkerPorts, 'leases' | 'clock'>): Partial<WorkerPorts> {
  return {
    leases: {
      ...leases,
      async settle(parts, now) {
        void clock.sleep(100).then(() => leases.settle(parts, now).catch(() => {}));
        return parts.map(() => 'recorded');
      },
    },
  };
}

/** Every attempt writes under the key of the first. */
export function forgetsTheAttemptInKeys({ leases, store }: WorkerPorts): Partial<WorkerPorts> {
  const attempts = new Map<string, number>();
  const first = (answer: ClaimAnswer): ClaimAnswer => {
    if (typeof answer === 'string') return answer;
    for (const { seq, attempt } of answer.items) attempts.set(`${answer.token} ${seq}`, attempt);
    return { ...answer, items: answer.items.map((item) => ({ ...item, attempt: 1 })) };
  };
  return {
    store: { ...store, put: (key, body, how) => store.put(key, body, { ...how, ifTaken: 'replace' }) },
    leases: {
      ...leases,
      claim: async (refs, worker, until, now) => (await leases.claim(refs, worker, until, now)).map(first),
      settle: (parts, now) => {
        const real = (token: string, seq: number) => attempts.get(`${token} ${seq}`) ?? 1;
        return leases.settle(
          parts.map((part) => ({
            ...part,
            items: part.items.map((item) => ({ ...item, attempt: real(part.token, item.seq) })),
          })),
          now,
        );
      },
    },
  };
}

export function neverRenews(): Partial<WorkerPorts> {
  return { heartbeat: { hold() {}, drop() {}, onLost() {}, async stop() {} } };
}

export function dropsWhatItHas({ leases }: WorkerPorts): Partial<WorkerPorts> {
  return { leases: { ...leases, release: async () => true } };
}

/** Suspect batches are run like any other: at the same time as others, and without a mark. */
export function trustsSuspects({ leases }: WorkerPorts): Partial<WorkerPorts> {
  const trust = (answer: ClaimAnswer): ClaimAnswer =>
    typeof answer === 'string' ? answer : { ...answer, suspect: false, alone: false };
  const claim: WorkerLeases['claim'] = async (refs, worker, until, now) =>
    (await leases.claim(refs, worker, until, now)).map(trust);
  return { leases: { ...leases, claim } };
}

export function ignoresRefusedMessages({ ledger }: ControllerPorts): Partial<ControllerPorts> {
  return { ledger: { ...ledger, recall: async () => 0 } };
}

export function completesTwice({ ledger }: ControllerPorts): Partial<ControllerPorts> {
  return {
    ledger: {
      ...ledger,
      async changeJob(jobId, event, now) {
        if (event.kind === 'complete') await ledger.changeJob(jobId, event, now);
        return ledger.changeJob(jobId, event, now);
      },
    },
  };
}

/** Pages of items are kept for the next manifest of the same job. */
export function indexesOldItems({ ledger }: ControllerPorts): Partial<ControllerPorts> {
  const kept = new Map<string, Page<ItemRecord>>();
  return {
    ledger: {
      ...ledger,
      async items(jobId, filter, page) {
        const known = kept.get(jobId);
        if (known !== undefined) return known;
        const read = await ledger.items(jobId, filter, page);
        kept.set(jobId, read);
        return read;
      },
    },
  };
}

export function alwaysLeads({ leadership }: ControllerPorts): Partial<ControllerPorts> {
  return {
    leadership: {
      ...leadership,
      async lead(holder, until, now) {
        await leadership.lead(holder, until, now);
        return 'leads';
      },
    },
  };
}

export function tripsAndForgets({ ledger }: ControllerPorts): Partial<ControllerPorts> {
  return {
    ledger: {
      ...ledger,
      async changeJob(jobId, event, now) {
        if (event.kind !== 'trip') return ledger.changeJob(jobId, event, now);
        const job = await ledger.job(jobId);
        return job ?? 'missing';
      },
    },
  };
}

/** A worker takes what comes as long as there is a slot, however much its jobs have already. */
export function takesWhateverComes({ queue }: WorkerPorts): Partial<WorkerPorts> {
  const blind = (room: ReceiverRoom): ReceiverRoom => ({
    now: () => ({ ...room.now(), jobs: [] }),
    onMore: (listener) => room.onMore(listener),
  });
  return {
    queue: {
      ...queue,
      receive: (lane, room, hideMs, signal) => queue.receive(lane, blind(room), hideMs, signal),
    },
  };
}
