import { type IncomingMessage, request as openRequest } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Fetch, FetchAnswer } from '../contract/client/api-client.ts';

/** `fetch` over a Unix socket, with the features that the API client needs: the built-in one has no such option. */
export function socketFetch(socketPath: string): Fetch {
  return (address, { method, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<FetchAnswer>();
    // A connection takes microseconds here, and a kept one may have been closed by the server when it is used again.
    const request = openRequest(address, { socketPath, method, headers, signal, agent: false });
    request.once('error', reject);
    request.once('response', (message) => {
      // An answer may come before the whole body is sent, and the rest is not wanted.
      message.once('end', () => request.destroy());
      resolve(answerOf(message));
    });
    // The events of the request report how it ends; this only ends the source with it.
    if (typeof body === 'object') pipeline(Readable.from(body), request, () => {});
    else request.end(body);
    return promise;
  };
}

/** Not a `Response`: loading that class takes longer than all requests of a small job. */
function answerOf(message: IncomingMessage): FetchAnswer {
  const { statusCode: status = 0, statusMessage: statusText = '', headers } = message;
  return {
    status,
    statusText,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => headers[name]?.toString() ?? null },
    body: {
      [Symbol.asyncIterator]: () => message[Symbol.asyncIterator](),
      async cancel() {
        message.destroy();
      },
    },
    get bodyUsed() {
      return message.readableDidRead;
    },
  };
}
