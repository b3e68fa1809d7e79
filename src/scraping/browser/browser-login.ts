import type { SetupContext, SetupVisitor } from '../http/setup.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import { type BrowserCompanion, type BrowserRules, type OpenedTab, openCompanion } from './browser-companion.ts';
import type { BrowserName } from './browser-identity.ts';
import type { StorageState } from './browser-visit.ts';
import { copyCookies } from './cookie-bridge.ts';

/** What the items of a process share after `setup`. */
export interface Login<State> {
  readonly value: State;
  /** Cookies and storage: a context that begins with them is logged in. */
  readonly storage: StorageState;
  /** The identity that logged in. */
  readonly name: BrowserName;
}

interface LoginParts extends Pick<Parameters<typeof openCompanion>[0], 'bridge' | 'identity'> {
  readonly rules: BrowserRules;
  readonly scraperId: string;
}

/** Runs `setup` of a scraper in its own page, and takes what it leaves in the browser. */
export async function runLogin<State>(
  setup: (context: SetupContext & OpenedTab) => Promise<State>,
  given: SetupContext,
  { item, exit, tools }: SetupVisitor,
  { rules, scraperId, bridge, identity }: LoginParts,
): Promise<Login<State>> {
  const { http, log, signal } = given;
  const companion = await openCompanion({
    ...{ rules, tools, log, http, bridge, identity, signal, context: item, storage: null },
    exits: () => exit,
    suspect: `${scraperId}/setup`,
    job: null,
    sleep: (ms) => given.sleep(ms),
  });
  try {
    const value = await companion.run(() => setup({ ...given, ...companion.given }));
    const { visit } = companion;
    const storage = await visit.storage();
    copyCookies(storage.cookies, http.cookies);
    const name = await visit.name();
    await companion.close(true);
    return { value, storage, name };
  } catch (thrown) {
    throw await afterFailure(companion, thrown);
  }
}

async function afterFailure(companion: BrowserCompanion, thrown: unknown): Promise<unknown> {
  const error = await companion.explain(thrown);
  const poison = await companion.close(false);
  return poison === null ? error : new ScrapeFailure(poison);
}
