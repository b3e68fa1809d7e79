/** A page's line to the browser, as Playwright's CDPSession is one. Egress knows the protocol, and no library. */
export interface CdpSession {
  /** Rejects when the page is gone. */
  send(method: string, params?: object): Promise<unknown>;
  on(event: string, listener: (payload: never) => void): unknown;
}
