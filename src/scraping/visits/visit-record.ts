import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { FAILURE_TYPES, type Failure } from '../../domain/failure.ts';
import type { ItemInput } from '../../domain/item.ts';
import type { Secrets } from '../../domain/secrets.ts';
import { request } from '../fixtures/fixture-format.ts';
import { maskTokens } from '../fixtures/mask-tokens.ts';
import { type Recorded, recordedExchanges } from '../fixtures/recorded-exchange.ts';
import { maskBody } from '../fixtures/write-case.ts';
import type { SeenTry } from './visit-log.ts';

/**
 * The content of `visit.json`: every request of the failed try and its answer, in the form of a fixture, so that a case
 * can be made from it. It contains no cookies, nothing that we sent except addresses and forms, and neither tokens that
 * the site issued nor our secrets.
 */
const visitSchema = z.object({
  input: z.record(z.string(), z.unknown()),
  recorded_at: z.iso.datetime(),
  failure: z.object({ type: z.enum(FAILURE_TYPES), message: z.string() }),
  exchanges: z.array(
    z.object({
      request,
      response: z.object({
        status: z.number().int(),
        headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
        body: z.string().optional(),
        /** For bodies that are not UTF-8. */
        body_base64: z.string().optional(),
      }),
    }),
  ),
  /** What cannot be replayed: addresses whose answer was too large or a document, or never arrived. */
  missing: z.array(z.string()),
});

type VisitText = z.infer<typeof visitSchema>;

/** A visit as it is read back. */
export interface Visited extends Omit<VisitText, 'exchanges' | 'input'> {
  readonly input: ItemInput;
  readonly recorded: readonly Recorded[];
}

export async function encodeVisit(
  seen: SeenTry,
  about: { readonly input: ItemInput; readonly failure: Failure; readonly at: number },
  secrets: Pick<Secrets, 'mask'>,
): Promise<Uint8Array> {
  const { input, failure, at } = about;
  const recorded: Recorded[] = [];
  const missing: string[] = [];
  for (const { request: asked, end, isWhole } of seen.exchanges) {
    if (isWhole && end.kind === 'answer') recorded.push(...(await recordedExchanges(asked, end, end.body, () => ({}))));
    else missing.push(`${asked.method} ${asked.url}`);
  }
  if (seen.leftOut > 0) missing.push(`${seen.leftOut} more requests`);
  const expect = { failure: failure.type, message: failure.message };
  const masked = maskTokens({ recorded, expect }, input).recorded;
  const text: VisitText = {
    input,
    recorded_at: new Date(at).toISOString(),
    failure: { type: failure.type, message: failure.message },
    exchanges: masked.map(({ request: asked, status, headers, body }) => ({
      request: { ...asked, method: asked.method ?? 'GET' },
      response: { status, headers: { ...headers }, ...encodeBody(maskBody(body, secrets)) },
    })),
    missing: missing.map((what) => what.slice(0, MAX_ADDRESS)),
  };
  return Buffer.from(`${secrets.mask(JSON.stringify(text))}\n`);
}

const MAX_ADDRESS = 2000;

function encodeBody(body: Buffer): Pick<VisitText['exchanges'][number]['response'], 'body' | 'body_base64'> {
  if (body.length === 0) return {};
  return isUtf8(body) ? { body: body.toString() } : { body_base64: body.toString('base64') };
}

/** Throws an Error that says what is wrong with it. */
export function decodeVisit(bytes: Uint8Array): Visited {
  const { exchanges, ...about } = visitSchema.parse(JSON.parse(Buffer.from(bytes).toString()));
  const recorded = exchanges.map(({ request: asked, response: { status, headers, body, body_base64 } }) => ({
    ...{ request: asked, status, headers },
    body: body_base64 === undefined ? Buffer.from(body ?? '') : Buffer.from(body_base64, 'base64'),
  }));
  return { ...about, recorded };
}
