import { isLoopback } from './access.ts';

/** The API cannot listen on the configured address. */
export class RefusedToListen extends Error {
  override name = 'RefusedToListen';
}

/** Checked before anything is opened: without a key, the server may only be reachable from this machine. */
export function checkListening({ host, apiKey }: { readonly host: string; readonly apiKey: string | null }): void {
  if (apiKey !== null || isLoopback(host)) return;
  throw new RefusedToListen(
    `without an API key the server only listens on this machine: set TRAWL_API_KEY to listen on ${host}, or use 127.0.0.1`,
  );
}
