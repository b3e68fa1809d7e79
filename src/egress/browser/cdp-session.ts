/** A page's connection to the browser, such as Playwright's CDPSession. Egress knows the protocol, but no library. */
export interface CdpSession {
  /** Rejects when the page is gone. */
  send(method: string, params?: object): Promise<unknown>;
  /** The event `close` means that the page is gone; all others are the protocol's. */
  on(event: string, listener: (payload: unknown) => void): unknown;
}
