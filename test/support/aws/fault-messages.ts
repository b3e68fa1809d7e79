import type { Chance } from './fault-chance.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface Message {
  readonly MessageId: string;
}

/** Seconds by which a message comes late, in addition to the delay that it was sent with. */
const LATE_SECONDS = [1, 2] as const;
const MAX_DELAY_SECONDS = 900;

/** Draws some entries of a batch, and at least one. */
export function delayed(operation: string, request: Fields, chance: Chance): Fields {
  const late = (message: Fields): Fields => {
    const asked = typeof message['DelaySeconds'] === 'number' ? message['DelaySeconds'] : 0;
    return { ...message, DelaySeconds: Math.min(asked + chance.pick(LATE_SECONDS), MAX_DELAY_SECONDS) };
  };
  if (operation === 'SendMessage') return late(request);
  const entries = entriesOf(request);
  const struck = new Set(chance.some(entries, 1, entries.length));
  return { ...request, Entries: entries.map((entry) => (struck.has(entry) ? late(entry) : entry)) };
}

export function reordered(request: Fields, chance: Chance): Fields {
  return { ...request, Entries: chance.shuffled(entriesOf(request)) };
}

/** What is to be sent once more: for a batch, some entries and at least one. */
export function repeated(operation: string, request: Fields, chance: Chance): Fields {
  if (operation === 'SendMessage') return request;
  const entries = entriesOf(request);
  return { ...request, Entries: chance.some(entries, 1, entries.length) };
}

function entriesOf(request: Fields): readonly Fields[] {
  return request['Entries'] as readonly Fields[];
}

/**
 * Messages that were handed out, by queue. One of them may come again, with its old receipt handle, whether or not it was
 * deleted since: that is what a standard queue reserves the right to.
 */
export class HandedOut {
  readonly #byQueue = new Map<string, Message[]>();

  remember(queue: string, messages: readonly Message[]): void {
    const known = this.#byQueue.get(queue) ?? [];
    this.#byQueue.set(queue, [...known, ...messages].slice(-REMEMBERED));
  }

  /** Null when there is none besides those that are just being handed out. */
  again(queue: string, besides: readonly Message[], chance: Chance): Message | null {
    const present = new Set(besides.map(({ MessageId }) => MessageId));
    const [first, ...rest] = (this.#byQueue.get(queue) ?? []).filter(({ MessageId }) => !present.has(MessageId));
    return first === undefined ? null : chance.pick([first, ...rest]);
  }
}

/** Enough that many rounds of messages have been deleted before one of them comes back. */
const REMEMBERED = 200;
