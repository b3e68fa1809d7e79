import { MAX_ROBOTS_BYTES, MAX_ROBOTS_REDIRECTS, type RobotsAnswer } from '../../domain/robots.ts';
import type { AnswerHead, BodySink, CookieBook, Deadlines, Exit, HostUsage, Web } from '../../egress/web.ts';
import type { HostGate } from '../../ports/host-gate.ts';
import { retryAfterMs } from '../page/retry-after.ts';

/** The visitor that fetches a robots.txt: the one that wants a page there. */
export interface RobotsVisitor {
  readonly exit: Exit;
  /** It is counted for the first that asks. */
  readonly usage: HostUsage;
  headersFor(url: URL): Readonly<Record<string, string>>;
  readonly deadlines: Deadlines;
  /** Makes the visitor wait for its own turn, too; without it, only the host's gate counts. */
  readonly pace?: (gate: HostGate) => HostGate;
}

interface FetchDeps {
  readonly web: Web;
  readonly gate: HostGate;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

interface Fetched {
  readonly answer: RobotsAnswer;
  /** Empty where the answer has none, or is not the file. */
  readonly text: string;
}

/** The longest wait that a `Retry-After` can ask for here. */
const MAX_RETRY_AFTER_MS = 3_600_000;

const NO_COOKIES: CookieBook = { header: () => null, keep: () => {} };

/** Rejects as `web.send` does: when `signal` aborts, and with HostHeld. */
export async function fetchRobots(origin: string, visitor: RobotsVisitor, deps: FetchDeps): Promise<Fetched> {
  const { web, now, signal } = deps;
  const gate = visitor.pace?.(deps.gate) ?? deps.gate;
  const { exit, deadlines, usage } = visitor;
  const start = new FileStart();
  const url = new URL('/robots.txt', origin);
  const request = { method: 'GET', url: url.href, headers: visitor.headersFor(url), body: null } as const;
  const end = await web
    .send(request, {
      ...{ exit, deadlines, usage, gate, signal },
      cookies: NO_COOKIES,
      limits: { rawBytes: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER, redirects: MAX_ROBOTS_REDIRECTS },
      // RFC 9309: a redirect is followed to any host. Egress decides which addresses may be dialled, here as elsewhere.
      checkHost: () => {},
      patienceMs: deadlines.totalMs,
      sink: (head) => start.begin(head),
    })
    .catch((error: unknown) => {
      if (error !== start.full || start.head === null) throw error;
      return { kind: 'answer', ...start.head } as const;
    });
  if (end.kind === 'failed') return { answer: end, text: '' };
  const wait = retryAfterMs(end.headers['retry-after'], now(), MAX_RETRY_AFTER_MS);
  return { answer: { kind: 'answer', status: end.status, retryAfterMs: wait }, text: start.text() };
}

/** The beginning of a body. The piece that exceeds it ends the transfer by throwing `full`. */
class FileStart implements BodySink {
  readonly full = new Error('enough was read of robots.txt');
  head: AnswerHead | null = null;
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  begin(head: AnswerHead): BodySink {
    this.head = head;
    return this;
  }

  async write(piece: Uint8Array): Promise<void> {
    this.#pieces.push(Uint8Array.from(piece.subarray(0, MAX_ROBOTS_BYTES - this.#size)));
    this.#size += piece.length;
    if (this.#size > MAX_ROBOTS_BYTES) throw this.full;
  }

  text(): string {
    const text = new TextDecoder().decode(Buffer.concat(this.#pieces));
    if (this.#size <= MAX_ROBOTS_BYTES) return text;
    // Half of a rule would be another rule.
    return text.slice(0, Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1);
  }
}
