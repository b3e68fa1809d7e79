import type { Browser } from 'playwright-core';
import type { Clock } from '../../ports/clock.ts';
import { RemoteSession } from '../remote-session.ts';

interface BrowserbaseDeps {
  readonly clock: Clock;
  readonly folder: string;
  readonly release: () => Promise<void>;
  /** What the service says about it; null if it could not be asked. */
  readonly isRunning: () => Promise<boolean | null>;
}

export interface BrowserbaseFacts {
  readonly id: string;
  /** Contains a key. */
  readonly connectUrl: string;
  readonly projectId: string;
}

/** Recordings and proxies belong to the context that it comes with, so that one is used. */
export class BrowserbaseSession extends RemoteSession {
  readonly connectUrl: string;
  readonly projectId: string;
  readonly #isRunning: BrowserbaseDeps['isRunning'];

  constructor({ id, connectUrl, projectId }: BrowserbaseFacts, browser: Browser, deps: BrowserbaseDeps) {
    super({ id, provider: 'browserbase', contexts: 'shared', browser }, deps);
    this.connectUrl = connectUrl;
    this.projectId = projectId;
    this.#isRunning = deps.isRunning;
  }

  /** A session may have ended there, by its timeout or by hand, while the connection still seems to be open. */
  override async isHealthy(ms: number): Promise<boolean> {
    const [answers, isRunning] = await Promise.all([super.isHealthy(ms), this.#isRunning()]);
    return answers && isRunning !== false;
  }
}
