/** A page's line to the browser, as Playwright's CDPSession is one. Egress knows the protocol, and no library. */
export interface CdpSession {
  /** Rejects when the page is gone. */
  send(method: string, params?: object): Promise<unknown>;
  /** The event `close` says that the page is gone; all others are the protocol's. */
  on(event: string, listener: (payload: unknown) => void): unknown;
}
