import type { WebAnswer, WebFailed, WebRequest } from '../../egress/web.ts';

/** One request of an item, as its metadata shows it. */
interface RequestRecord {
  readonly method: string;
  readonly url: string;
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly bytes: number;
  readonly ms: number;
  readonly redirects?: readonly { readonly url: string; readonly status: number }[];
}

/** A scraper that goes through pages in a loop would otherwise make a metadata file larger than its data. */
const MAX_RECORDS = 100;
const MAX_URL_LENGTH = 2000;

export class RequestLog {
  readonly #records: RequestRecord[] = [];
  #count = 0;

  get records(): readonly RequestRecord[] {
    return this.#records;
  }

  /** Counts all requests, including those that are no longer recorded. */
  get count(): number {
    return this.#count;
  }

  add({ method, url }: WebRequest, end: WebAnswer | WebFailed): RequestRecord {
    const record: RequestRecord = {
      method,
      url: url.slice(0, MAX_URL_LENGTH),
      status: end.kind === 'answer' ? end.status : null,
      bytes: end.kind === 'answer' ? end.bytes : 0,
      ms: Math.round(end.ms),
      ...(end.redirects.length > 0 && {
        redirects: end.redirects.map((hop) => ({ url: hop.url.slice(0, MAX_URL_LENGTH), status: hop.status })),
      }),
    };
    this.#count += 1;
    if (this.#records.length < MAX_RECORDS) this.#records.push(record);
    return record;
  }
}
