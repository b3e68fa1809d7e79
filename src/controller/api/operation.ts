import type { z } from 'zod';
import { Problem, type ProblemCode } from '../../contract/problem.ts';
import { nothing } from '../../contract/requests.ts';
import { schemaProblems } from '../../domain/schema-problems.ts';

/**
 * An operation of the API: what it accepts, what it answers and what it does, in one place. The server, the OpenAPI
 * document and the documentation page are all made from the list of operations, so that they cannot differ.
 */
export interface Operation<Params = unknown, Query = unknown, Body = unknown> {
  /** Its name in the OpenAPI document, in metrics and in logs. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters in braces: `/jobs/{job_id}`. */
  readonly path: string;
  readonly tag: 'jobs' | 'items' | 'results' | 'scrapers' | 'hosts' | 'sites' | 'runs' | 'service';
  readonly summary: string;
  readonly description?: string;
  /** `open`: no key is needed. */
  readonly access: 'open' | 'read' | 'full';
  readonly params: z.ZodType<Params>;
  readonly query: z.ZodType<Query>;
  /** Headers that it uses, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: BodySpec<Body>;
  /** By HTTP status. */
  readonly answers: Readonly<Record<number, AnswerSpec>>;
  /** Besides those that every operation can have. */
  readonly problems: readonly ProblemCode[];
  handle(request: ApiRequest<Params, Query, Body>): Promise<ApiReply>;
}

type BodySpec<Body> =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'json';
      readonly schema: z.ZodType<Body>;
      readonly limitBytes: number;
      /** Whether a missing body means `{}`. */
      readonly isOptional: boolean;
      readonly example: unknown;
    }
  /** A body of any length: the operation reads it as it arrives. */
  | { readonly kind: 'stream'; readonly contentTypes: Readonly<Record<string, StreamSpec>> };

interface StreamSpec {
  /** Schema of the complete body. The operation checks it; it is here for the OpenAPI document. */
  readonly schema: z.ZodType;
  readonly example: unknown;
}

export interface AnswerSpec {
  readonly description: string;
  /** By content type: the schema of its JSON, a description of its bytes, or its server-sent events. */
  readonly content?: Readonly<Record<string, z.ZodType | string | EventStreamSpec>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface EventStreamSpec {
  readonly description: string;
  /** Schema of an object with the name of an event and its data. */
  readonly events: z.ZodType;
}

interface ApiRequest<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** The body of a `json` as it was sent: without defaults. Undefined for none. */
  readonly sent: unknown;
  /** The body of a `stream`; empty otherwise. */
  readonly stream: AsyncIterable<Uint8Array>;
  header(name: string): string | null;
  /** Aborts when the client has closed the connection. */
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

/** What most operations do not need may be left out: parameters, a query, a body, problems of its own. */
type Definition<Params, Query, Body> = Omit<Operation<Params, Query, Body>, Omittable> &
  Partial<Pick<Operation<Params, Query, Body>, Omittable>>;
type Omittable = 'params' | 'query' | 'body' | 'problems';

/** Checks that the types within an operation agree; in a list they are erased. */
export function operation<Params, Query, Body>(definition: Definition<Params, Query, Body>): Operation {
  const usual = { params: nothing, query: nothing, body: { kind: 'none' }, problems: [] };
  return { ...usual, ...definition } as unknown as Operation;
}

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

/** More would not help the reader. */
const MAX_ERRORS = 100;

/** Parses a part of a request; throws a problem that names each bad field. */
export function checked<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = schemaProblems(parsed.error);
  const rest = problems.length > MAX_ERRORS ? ` The first ${MAX_ERRORS} of ${problems.length} are listed.` : '';
  throw new Problem('invalid_request', `Invalid ${where}: see errors.${rest}`, problems.slice(0, MAX_ERRORS));
}
