/**
 * Everything that can be wrong with a request, as a closed list: each entry has a stable code and one HTTP status. Users'
 * programs switch on the code, so a code is never renamed.
 */
export const PROBLEMS = {
  malformed_request: { status: 400, title: 'The request cannot be parsed' },
  unauthorized: { status: 401, title: 'A valid API key is required' },
  forbidden: { status: 403, title: 'This API key is read-only' },
  forbidden_host: { status: 403, title: 'The request names another host' },
  forbidden_origin: { status: 403, title: 'The request comes from another site' },
  not_found: { status: 404, title: 'No such path' },
  job_not_found: { status: 404, title: 'No such job' },
  plan_not_found: { status: 404, title: 'No such plan' },
  item_not_found: { status: 404, title: 'No such item in this job' },
  artifact_not_found: { status: 404, title: 'No such artifact for this item' },
  part_not_found: { status: 404, title: 'No such part of the results' },
  page_not_found: { status: 404, title: 'The site has no such page' },
  site_not_found: { status: 404, title: 'No such site' },
  run_not_found: { status: 404, title: 'No such scrape run' },
  run_item_not_found: { status: 404, title: 'No such item in this scrape run' },
  scraper_not_found: { status: 404, title: 'No such scraper' },
  recording_not_found: { status: 404, title: 'The job has no recording of its own' },
  method_not_allowed: { status: 405, title: 'The path does not support this method' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  job_exists: { status: 409, title: 'A job with this id already exists' },
  job_being_removed: { status: 409, title: 'An earlier job with this id is still being deleted' },
  scraper_unusable: { status: 409, title: 'The scraper cannot be loaded' },
  scraper_in_file: { status: 409, title: 'The scraper is a file' },
  scraper_in_use: { status: 409, title: 'A job uses the scraper' },
  scraper_version_taken: { status: 409, title: 'This version was stored with other content' },
  state_conflict: { status: 409, title: 'The state of the job does not allow this' },
  host_settings_changed: { status: 409, title: 'The settings of the host have changed' },
  site_changed: { status: 409, title: 'The configuration of the site has changed' },
  run_ended: { status: 409, title: 'The scrape run has ended' },
  site_in_file: { status: 409, title: 'The site is in the file of sites' },
  etl_not_configured: { status: 409, title: 'No ETL API is configured' },
  run_busy: { status: 409, title: 'The run is being carried out' },
  too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The content type is not supported' },
  range_not_satisfiable: { status: 416, title: 'The range is outside the artifact' },
  invalid_request: { status: 422, title: 'The request contains invalid values' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was used for a different request' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  page_not_read: { status: 424, title: 'The page could not be read' },
  etl_trouble: { status: 502, title: 'The ETL API did not do what was asked of it' },
  no_workers: { status: 503, title: 'No worker can do this' },
  too_many_errands: { status: 503, title: 'Too many requests wait for a worker' },
  too_many_exports: { status: 503, title: 'Too many exports are running' },
  too_many_watchers: { status: 503, title: 'Too many event streams are open' },
  storage_trouble: { status: 503, title: 'The storage cannot be written' },
  stopping: { status: 503, title: 'The server is stopping' },
  page_too_slow: { status: 504, title: 'The page took too long' },
  internal_error: { status: 500, title: 'Internal server error' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** What is wrong with a single field. `more_errors` and `items_added` are remarks on the list of errors as a whole. */
export const FIELD_CODES = [
  'invalid_value',
  'unknown_field',
  'duplicate_id',
  'scraper_unusable',
  'more_errors',
  'items_added',
] as const;
type FieldCode = (typeof FIELD_CODES)[number];

/** What the server did without being asked, or what a job will have to wait for. */
export const WARNING_CODES = [
  'default_scraper',
  'no_workers',
  'edited_scraper_unusable',
  'setting_ignored',
  'proxy_not_configured',
  'recording_converted',
  'selector_drift',
] as const;

export interface FieldError {
  /** `items.3.input.apn`; empty for the request as a whole. */
  readonly path: string;
  /** Defaults to `invalid_value`, as schemas do. */
  readonly code?: FieldCode;
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

export function renderProblem({ code, message: detail, errors: found }: Problem): string {
  const { status, title } = PROBLEMS[code];
  const errors = found.map(({ path, code: fieldCode = 'invalid_value', message }) => ({
    path,
    code: fieldCode,
    message,
  }));
  const type = `urn:trawl:problem:${code}`;
  return JSON.stringify({ type, title, status, code, detail, ...(errors.length > 0 ? { errors } : {}) });
}

/** The engine's refusals are clauses; a detail is a whole sentence. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
