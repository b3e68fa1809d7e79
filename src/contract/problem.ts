/**
 * What can be wrong with a request, as a closed list: each has a stable code and one HTTP status. Users' programs switch
 * on the code, so that a code is never renamed.
 */
export const PROBLEMS = {
  malformed_request: { status: 400, title: 'The request cannot be read' },
  unauthorized: { status: 401, title: 'A key is needed' },
  forbidden: { status: 403, title: 'This key may only read' },
  forbidden_host: { status: 403, title: 'The request is for another host' },
  forbidden_origin: { status: 403, title: 'The request comes from another site' },
  not_found: { status: 404, title: 'There is nothing under this path' },
  job_not_found: { status: 404, title: 'There is no such job' },
  item_not_found: { status: 404, title: 'The job has no such item' },
  artifact_not_found: { status: 404, title: 'The item has no such artifact' },
  part_not_found: { status: 404, title: 'The results have no such part' },
  scraper_not_found: { status: 404, title: 'There is no such scraper' },
  method_not_allowed: { status: 405, title: 'The path has no such method' },
  request_timeout: { status: 408, title: 'The request came too slowly' },
  job_exists: { status: 409, title: 'There is a job of that id' },
  job_being_removed: { status: 409, title: 'An earlier job of that id is still being removed' },
  scraper_unusable: { status: 409, title: 'The scraper cannot be used' },
  state_conflict: { status: 409, title: 'The job is not in a state for that' },
  too_large: { status: 413, title: 'The request is too large' },
  unsupported_media_type: { status: 415, title: 'The request has a content type that is not understood' },
  range_not_satisfiable: { status: 416, title: 'The artifact has no such range' },
  invalid_request: { status: 422, title: 'The request has values that cannot be used' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key belongs to another request' },
  headers_too_large: { status: 431, title: 'The headers of the request are too large' },
  too_many_exports: { status: 503, title: 'Too many exports are under way' },
  too_many_watchers: { status: 503, title: 'Too many are watching' },
  storage_trouble: { status: 503, title: 'The storage cannot be written' },
  stopping: { status: 503, title: 'The server is stopping' },
  internal_error: { status: 500, title: 'Something went wrong here' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

export interface FieldError {
  /** `items.3.input.apn`; empty for the whole of it. */
  readonly path: string;
  readonly message: string;
}

/** Thrown by a route to answer with a problem. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    errors: readonly FieldError[] = [],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.name = 'Problem';
    this.code = code;
    this.errors = errors;
    this.headers = headers;
  }
}

export const PROBLEM_TYPE = 'application/problem+json';

export function renderProblem({ code, message, errors }: Problem): string {
  const { status, title } = PROBLEMS[code];
  const type = `urn:trawl:problem:${code}`;
  return JSON.stringify({ type, title, status, code, detail: message, ...(errors.length > 0 ? { errors } : {}) });
}

/** Refusals of the engine are parts of sentences; a detail is a whole one. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
