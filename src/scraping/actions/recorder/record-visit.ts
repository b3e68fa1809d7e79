import type { Page } from 'playwright-core';
import { DEFAULT_POLICY } from '../../../domain/policy.ts';
import type { RecordedVisit } from '../../../domain/recording/record/compose-recorded.ts';
import { DIRECT } from '../../../egress/direct-dialer.ts';
import { OPEN_GATE } from '../../../ports/host-gate.ts';
import type { BrowserTools } from '../../browser/browser-tools.ts';
import { BrowserVisit } from '../../browser/browser-visit.ts';
import type { ScrapeLog } from '../../scraper.ts';
import { UsageMeter } from '../../usage-meter.ts';
import { ActionRecorder } from './action-recorder.ts';

export interface RecordWish {
  readonly browser: BrowserTools;
  readonly log: ScrapeLog;
  readonly url: string;
  /** Ends the recording; what was done until then is kept. */
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** Called when the page is open, and the person may begin. */
  readonly onOpen: (page: Page) => void;
}

/** A person works for as long as it takes, on whatever pages there are. */
const VISIT_BYTES = 8 * 2 ** 30;
const ANSWER_MS = 60_000;

/**
 * Opens a page, and records what is done in its window until that is closed. Pages are fetched under the egress rules, like
 * those of any scraper. Rejects if the page cannot be opened.
 */
export async function recordVisit({ browser, log, url, signal, now, onOpen }: RecordWish): Promise<RecordedVisit> {
  const hosts = new Set<string>();
  const over = new AbortController();
  const visit = await BrowserVisit.open({
    ...{ browser, suspect: 'recorder', job: null, policy: DEFAULT_POLICY, storage: null, log },
    waitUncounted: (wait) => wait(),
    visit: {
      ...{ usage: new UsageMeter().through('none'), gate: OPEN_GATE, patienceMs: ANSWER_MS, signal: over.signal },
      ...{ exit: { dialer: DIRECT, session: 'recorder' }, job: null },
      deadlines: { connectMs: ANSWER_MS, firstByteMs: ANSWER_MS, silenceMs: ANSWER_MS },
      maxBytes: VISIT_BYTES,
      checkHost: (host) => {
        hosts.add(host);
      },
    },
  });
  // Dialogs are the person's to answer.
  visit.watch.end();
  try {
    const recorder = await ActionRecorder.start(visit.page, now);
    await openFirst(visit, url);
    onOpen(visit.page);
    await Promise.race([recorder.ended, untilAborted(signal), untilAborted(visit.gone)]);
    recorder.stop();
    return { url, events: await recorder.events(), hosts: [...hosts] };
  } finally {
    over.abort('the recording is over');
    await visit.close(true);
  }
}

async function openFirst(visit: BrowserVisit, url: string): Promise<void> {
  try {
    await visit.page.goto(url, { waitUntil: 'commit', timeout: ANSWER_MS });
  } catch (error) {
    throw visit.way.refusal() ?? error;
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
