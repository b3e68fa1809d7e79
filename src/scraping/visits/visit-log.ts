import type { FailureType } from '../../domain/failure.ts';
import type { Visit, Web, WebAnswer, WebFailed, WebRequest } from '../../egress/web.ts';
import type { HeldRoom } from './held-room.ts';

/** One request of a try. */
interface HeldExchange {
  readonly request: WebRequest;
  readonly end: WebAnswer | WebFailed;
  /** Whether the body is there as it came. */
  readonly isWhole: boolean;
}

/** What was requested in one try, and the answers. */
export interface SeenTry {
  readonly exchanges: readonly HeldExchange[];
  /** Requests beyond those. */
  readonly leftOut: number;
  /** The result of the last request, always with its body; null if nothing was requested. */
  readonly last: WebAnswer | WebFailed | null;
}

/**
 * The web for one attempt at an item, which remembers the answers. Nothing is copied: it only keeps what others have
 * received, up to some MiB, until it is known whether the item failed. What no longer fits is remembered without its
 * body. Documents go to the store and are never held.
 */
export class VisitLog implements Web {
  readonly #web: Web;
  readonly #room: HeldRoom;
  #current = new HeldTry();
  /** The last try that ended with a failure of each type, and was followed by another. */
  #aside: Map<FailureType, HeldTry> | null = null;

  constructor(web: Web, room: HeldRoom) {
    this.#web = web;
    this.#room = room;
  }

  async send(request: WebRequest, visit: Visit): Promise<WebAnswer | WebFailed> {
    // Belongs to the try in which it was sent: an abandoned one may still get its answer in the next.
    const into = this.#current;
    const end = await this.#web.send(request, visit);
    into.add(request, end, this.#room);
    return end;
  }

  /** A try ended like this, and another begins. */
  nextTry(failedAs: FailureType): void {
    this.#aside ??= new Map();
    this.#aside.get(failedAs)?.close(this.#room);
    this.#aside.set(failedAs, this.#current);
    this.#current = new HeldTry();
  }

  /** The try that ended with this failure; `last` is how the last one ended. */
  tryThatFailedAs(type: FailureType, last: FailureType): SeenTry {
    return type === last ? this.#current : (this.#aside?.get(type) ?? this.#current);
  }

  /** Forgets everything. */
  close(): void {
    for (const held of this.#aside?.values() ?? []) held.close(this.#room);
    this.#current.close(this.#room);
  }
}

const MOST_EXCHANGES = 200;
const MOST_BYTES_OF_A_TRY = 2 << 20;

class HeldTry implements SeenTry {
  readonly #exchanges: HeldExchange[] = [];
  #bytes = 0;
  #leftOut = 0;
  #last: WebAnswer | WebFailed | null = null;
  #isClosed = false;

  get exchanges(): readonly HeldExchange[] {
    return this.#exchanges;
  }

  get leftOut(): number {
    return this.#leftOut;
  }

  get last(): WebAnswer | WebFailed | null {
    return this.#last;
  }

  add(request: WebRequest, end: WebAnswer | WebFailed, room: HeldRoom): void {
    if (this.#isClosed) return;
    this.#last = end;
    if (this.#exchanges.length >= MOST_EXCHANGES) {
      this.#leftOut += 1;
      return;
    }
    if (end.kind === 'failed') {
      this.#exchanges.push({ request, end, isWhole: false });
      return;
    }
    const size = end.body.byteLength;
    // What went to a sink has a size and no body.
    const fits = this.#bytes + size <= MOST_BYTES_OF_A_TRY && room.take(size);
    if (fits) this.#bytes += size;
    const isWhole = fits && (size > 0 || end.bytes === 0);
    this.#exchanges.push({ request, end: fits ? end : { ...end, body: NOTHING }, isWhole });
  }

  close(room: HeldRoom): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    room.give(this.#bytes);
    this.#exchanges.length = 0;
    this.#last = null;
  }
}

const NOTHING = new Uint8Array();
