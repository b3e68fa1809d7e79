import { isDue } from '../domain/due.ts';
import type { RunOrder } from '../domain/run-order.ts';
import type { SiteRows } from './site-rows.ts';

/**
 * The runs that this installation carries out, at most one for each domain. All controllers share them; the leader works
 * on them. An order is written before the job of its round, so that a crash never leaves a job of which no one reports.
 */
export interface RunOrders {
  /**
   * Takes a domain before a run is looked for or created, so that two starts at the same time do not create two runs. A
   * reservation that is not followed by an order is void after some minutes.
   */
  reserve(domain: string, id: string, now: number): Promise<Reservation>;
  /** Gives a reservation up. Does nothing once it has become an order. */
  release(domain: string, id: string): Promise<void>;
  /** Turns the reservation with the id of the order into the order. False if it is lost. */
  begin(order: RunOrder): Promise<boolean>;
  /** By domain; without reservations. */
  list(): Promise<readonly RunOrder[]>;
  /** Replaces the order of the same id and round, and returns whether it was there. */
  change(order: RunOrder, next: RunOrder): Promise<boolean>;
  /** Removes the order of the same id and round. Does nothing if it is gone. */
  end(order: RunOrder): Promise<void>;
}

type Reservation =
  | { readonly kind: 'reserved' }
  /** Another start has the domain. */
  | { readonly kind: 'starting' }
  | { readonly kind: 'carried'; readonly order: RunOrder };

/** A domain that is taken. */
export interface RunRow {
  readonly domain: string;
  readonly id: string;
  readonly reservedAt: number;
  /** Null while it is only reserved. */
  readonly order: RunOrder | null;
}

/** Longer than it takes to find or create a run, with all retries. */
const RESERVED_MS = 5 * 60_000;

/** All of them are rows of one place. */
const PLACE = 'runs';
const ROWS_PER_PAGE = 100;

export function composeRunOrders(rows: SiteRows<RunRow>): RunOrders {
  const changeRow = async (domain: string, apply: (known: RunRow | null) => RunRow | null) => {
    const [there = null] = await rows.change([{ row: { site: PLACE, name: domain }, apply }]);
    return there;
  };
  return {
    async reserve(domain, id, reservedAt) {
      const there = await changeRow(domain, (known) => {
        const isTaken = known !== null && (known.order !== null || !isVoid(known, reservedAt));
        return isTaken ? known : { domain, id, reservedAt, order: null };
      });
      if (there?.order) return { kind: 'carried', order: there.order };
      return { kind: there?.id === id ? 'reserved' : 'starting' };
    },
    async release(domain, id) {
      await changeRow(domain, (known) => (known?.id === id && known.order === null ? null : known));
    },
    async begin(order) {
      const there = await changeRow(order.domain, (known) => (known?.id === order.id ? { ...known, order } : known));
      return there?.id === order.id;
    },
    async list() {
      const orders: RunOrder[] = [];
      let after: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof rows.page>> = await rows.page(PLACE, after, ROWS_PER_PAGE);
        for (const { order } of page.rows) if (order !== null) orders.push(order);
        after = page.next;
      } while (after !== null);
      return orders;
    },
    async change(order, next) {
      const there = await changeRow(order.domain, (known) =>
        known !== null && holds(known, order) ? { ...known, order: next } : known,
      );
      return there !== null && holds(there, next);
    },
    async end(order) {
      await changeRow(order.domain, (known) => (known !== null && holds(known, order) ? null : known));
    },
  };
}

function isVoid({ reservedAt }: RunRow, now: number): boolean {
  return isDue(reservedAt + RESERVED_MS, now, RESERVED_MS);
}

function holds({ order }: RunRow, { id, round }: RunOrder): boolean {
  return order?.id === id && order.round === round;
}
