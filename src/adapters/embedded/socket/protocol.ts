import { z } from 'zod';
import { StorageTrouble, type TroubleKind } from '../../../ports/storage-trouble.ts';
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

export const helloSchema = z.tuple([
  z.literal('hello'),
  z.object({ protocol: z.number(), worker: z.string().min(1).max(200), role: z.enum(['main', 'heartbeat']) }),
]);

export const welcomeSchema = z.union([
  z.tuple([z.literal('welcome'), z.object({ protocol: z.number() })]),
  z.tuple([z.literal('refuse'), z.string()]),
]);

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

const sentErrorSchema = z.object({
  name: z.string(),
  message: z.string(),
  kind: z.enum(['full', 'io', 'broken']).optional(),
});

/** The error as the caller should see it: StorageTrouble becomes one again; others keep name and message. */
export function receivedError(sent: unknown): Error {
  const parsed = sentErrorSchema.safeParse(sent);
  if (!parsed.success) return new ProtocolError('the owner answered with an error that is none');
  const { name, message, kind } = parsed.data;
  if (name === 'StorageTrouble') return new StorageTrouble(kind ?? 'io', message);
  const error = new Error(message);
  error.name = name;
  return error;
}
