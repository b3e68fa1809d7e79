import { isLoopback } from './access.ts';

/** The API cannot be where it is told to be. */
export class RefusedToListen extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RefusedToListen';
  }
}

/** Refused before anything is opened: without a key, only programs of this machine may reach the server. */
export function checkListening({ host, apiKey }: { readonly host: string; readonly apiKey: string | null }): void {
  if (apiKey !== null || isLoopback(host)) return;
  throw new RefusedToListen(
    `without a key the API is for this machine only: set TRAWL_API_KEY to listen on ${host}, or leave the host at 127.0.0.1`,
  );
}
