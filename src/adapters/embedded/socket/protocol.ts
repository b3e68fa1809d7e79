import { isRecord } from '../../../domain/is-record.ts';
import { StorageTrouble, TROUBLE_KINDS, type TroubleKind } from '../../../ports/storage-trouble.ts';
import { ProtocolError } from './frame.ts';

/**
 * What a worker process and the owner of the ledger say to each other, each in a frame:
 *
 *   worker → owner   ["hello", {protocol, worker, role}]        once, first
 *   owner → worker   ["welcome", {protocol}] or ["refuse", reason]
 *   worker → owner   ["calls", [id, method, …arguments], …]     as many as were made together
 *   owner → worker   ["replies", [id, answer], [id, null, error], …]   in any order
 *   worker → owner   ["bye"]                                    it holds nothing any more, and closes
 *
 * The methods are those of worker-calls.ts. A call with the id 0 has no reply: `cancel` ends the `take` whose id is its argument,
 * `room` says what the worker has room for by now, for as long as that one still waits, and the others are UNANSWERED.
 */
export const PROTOCOL_VERSION = 14;

/** A peer that has not sent or answered hello by then is not one of us. */
export const HELLO_MS = 10_000;

/** What the owner answers to hello; `refused` says why, if it does. Without a schema: see heartbeat-connection.ts. */
export function readWelcome(message: unknown): { readonly refused: string | null } {
  if (Array.isArray(message) && message.length === 2) {
    const [kind, said]: unknown[] = message;
    if (kind === 'welcome' && isRecord(said) && typeof said['protocol'] === 'number') return { refused: null };
    if (kind === 'refuse' && typeof said === 'string') return { refused: said };
  }
  throw new ProtocolError('it did not begin with welcome');
}

/** The entries of a message of this kind; null if it is of another. */
export function entriesOf(message: unknown, kind: 'calls' | 'replies'): readonly unknown[][] | null {
  if (!Array.isArray(message) || message[0] !== kind) return null;
  const entries: unknown[] = message.slice(1);
  return entries.map((entry) => {
    if (!Array.isArray(entry) || !Number.isSafeInteger(entry[0])) throw new ProtocolError(`bad entry in ${kind}`);
    return entry;
  });
}

/** An error on its way to the worker. */
interface SentError {
  readonly name: string;
  readonly message: string;
  /** Kind of a StorageTrouble. */
  readonly kind?: TroubleKind;
}

export function sendableError(error: unknown): SentError {
  if (error instanceof StorageTrouble) return { name: error.name, message: error.message, kind: error.kind };
  if (error instanceof Error) return { name: error.name, message: error.message };
  return { name: 'Error', message: String(error) };
}

/** The error as the caller should see it: StorageTrouble becomes one again; others keep name and message. */
export function receivedError(sent: unknown): Error {
  if (!isRecord(sent) || typeof sent['name'] !== 'string' || typeof sent['message'] !== 'string') {
    return new ProtocolError('the owner answered with something that is not an error');
  }
  const { name, message, kind } = sent;
  if (name === 'StorageTrouble')
    return new StorageTrouble(TROUBLE_KINDS.find((each) => each === kind) ?? 'io', message);
  const error = new Error(message);
  error.name = name;
  return error;
}
