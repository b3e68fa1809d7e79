import { request as openRequest } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Fetch } from '../contract/client/api-client.ts';

/** `fetch` over a Unix socket, as far as the client of the API needs it: the built-in one knows none. */
export function socketFetch(socketPath: string): Fetch {
  return (address, { method, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const request = openRequest(address, {
      ...{ socketPath, method, headers: Object.fromEntries(new Headers(headers)), signal: signal ?? undefined },
      // A connection takes microseconds here, and one that is kept may be closed by the server when it is used again.
      agent: false,
    });
    request.once('error', reject);
    request.once('response', (message) => {
      // An answer may come before all of the body is sent, and the rest is not wanted.
      message.once('end', () => request.destroy());
      const { statusCode: status = 0, statusMessage: statusText = '' } = message;
      const received = Object.entries(message.headers).map(([name, value]): [string, string] => [name, String(value)]);
      const content = status === 204 ? null : (Readable.toWeb(message) as ReadableStream<Uint8Array>);
      resolve(new Response(content, { status, statusText, headers: received }));
    });
    // How the request ends is said by its events; this only ends the source with it.
    if (isStream(body)) pipeline(Readable.from(body), request, () => {});
    else request.end(body ?? undefined);
    return promise;
  };
}

function isStream(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}
