import type { z } from 'zod';
import { Problem, type ProblemCode } from '../../contract/problem.ts';
import { schemaProblems } from '../../domain/schema-problems.ts';

/**
 * An operation of the API: what it takes, what it answers and what it does, in one place. The server, the OpenAPI document
 * and the page for people are all made from the list of operations, so that they cannot tell different stories.
 */
export interface Operation<Params = unknown, Query = unknown, Body = unknown> {
  /** Names it in the OpenAPI document, in metrics and in logs. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With parameters in braces: `/jobs/{job_id}`. */
  readonly path: string;
  readonly tag: 'jobs' | 'items' | 'results' | 'scrapers' | 'hosts' | 'service';
  readonly summary: string;
  readonly description?: string;
  /** `open`: for anybody who reaches the server. */
  readonly access: 'open' | 'read' | 'full';
  readonly params: z.ZodType<Params>;
  readonly query: z.ZodType<Query>;
  /** Headers that mean something to it, and what; none if left out. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: BodySpec<Body>;
  /** By HTTP status. */
  readonly answers: Readonly<Record<number, AnswerSpec>>;
  /** Beside those that any operation can have. */
  readonly problems: readonly ProblemCode[];
  handle(request: ApiRequest<Params, Query, Body>): Promise<ApiReply>;
}

export type BodySpec<Body> =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'json';
      readonly schema: z.ZodType<Body>;
      readonly limitBytes: number;
      /** Where nothing at all stands for `{}`. */
      readonly isOptional: boolean;
      readonly example: unknown;
    }
  /** Of any length: the operation reads it as it comes. */
  | { readonly kind: 'stream'; readonly contentTypes: Readonly<Record<string, StreamSpec>> };

export interface StreamSpec {
  /** Of the whole of it; nothing is checked against it here. */
  readonly schema: z.ZodType;
  readonly example: unknown;
}

export interface AnswerSpec {
  readonly description: string;
  /** By content type; a schema of its JSON, or what the bytes are. */
  readonly content?: Readonly<Record<string, z.ZodType | string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Of a `stream`; empty otherwise. */
  readonly stream: AsyncIterable<Uint8Array>;
  header(name: string): string | null;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

export type ApiReply =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly json: unknown }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly text: string }
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly stream: AsyncIterable<Uint8Array>;
    }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly empty: true };

/** Keeps the types of an operation's parts together while it is written; in a list they are all alike. */
export function operation<Params, Query, Body>(definition: Operation<Params, Query, Body>): Operation {
  return definition as unknown as Operation;
}

export const NO_BODY: BodySpec<undefined> = { kind: 'none' };

const MIB = 1 << 20;

export function jsonBody<Body>(
  schema: z.ZodType<Body>,
  example: unknown,
  { limitBytes = MIB, isOptional = false }: { limitBytes?: number; isOptional?: boolean } = {},
): BodySpec<Body> {
  return { kind: 'json', schema, limitBytes, isOptional, example };
}

export function jsonAnswer(
  description: string,
  schema: z.ZodType,
  headers: Readonly<Record<string, string>> = {},
): AnswerSpec {
  return { description, content: { 'application/json': schema }, headers };
}

/** What is wrong with many fields is cut short: nobody reads the thousandth. */
const MAX_ERRORS = 100;

/** Values of a request through their schema, or a problem that names each bad field. */
export function checked<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = schemaProblems(parsed.error);
  const rest = problems.length > MAX_ERRORS ? ` The first ${MAX_ERRORS} of ${problems.length} are listed.` : '';
  throw new Problem('invalid_request', `${where} cannot be used: see errors.${rest}`, problems.slice(0, MAX_ERRORS));
}
