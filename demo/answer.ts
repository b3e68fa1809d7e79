import type { ServerResponse } from 'node:http';

/** What goes back to a visitor, whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer;
}

const NOTHING = Buffer.alloc(0);
const HTML = { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'private' };

export function htmlAnswer(status: number, body: Buffer, more: Answer['headers'] = {}): Answer {
  return { status, headers: { ...HTML, ...more }, body };
}

export function jsonAnswer(status: number, value: unknown): Answer {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  return { status, headers: { 'Content-Type': 'application/json' }, body };
}

export function pdfAnswer(name: string, body: Buffer): Answer {
  const headers = { 'Content-Type': 'application/pdf', 'Content-Disposition': `inline; filename="${name}"` };
  return { status: 200, headers, body };
}

export function redirectAnswer(location: string, more: Answer['headers'] = {}): Answer {
  return { status: 302, headers: { Location: location, ...more }, body: NOTHING };
}

/** Node leaves the body out where the request was HEAD; the length is said all the same. */
export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  // The date is not read here, and it would be computed for every page.
  response.sendDate = false;
  response.writeHead(status, { ...headers, 'Content-Length': body.length });
  response.end(body);
}

/** Sends the body in pieces, one every so often, until it is through or the visitor is gone. */
export function drip(
  response: ServerResponse,
  { status, headers, body }: Answer,
  bytes: number,
  everyMs: number,
): void {
  response.writeHead(status, { ...headers, 'Content-Length': body.length });
  response.flushHeaders();
  let sent = 0;
  const timer = setInterval(() => {
    const piece = body.subarray(sent, sent + bytes);
    sent += bytes;
    if (sent < body.length) response.write(piece);
    else response.end(piece);
  }, everyMs);
  response.once('close', () => clearInterval(timer));
}
