import { itemsToSessions, openRunManager, openSessionManager, type ScrapeRunItem, type Session } from 'trawl/runs';

const SESSIONS = 3;

/** Scrapes the pending URLs of a domain's run in browser sessions, reports each of them, and ends the run. */
export async function scrapeRun(domain: string, urls: string[] = []) {
  const runs = openRunManager();
  const sessions = openSessionManager({ maxSessions: SESSIONS, provider: 'local' });
  try {
    const run = (await runs.getActiveRun(domain)) ?? (await runs.createRun(domain, urls));
    await Promise.all(Array.from({ length: SESSIONS }, () => sessions.createSession()));

    const scrape = async (session: Session, item: ScrapeRunItem) => {
      const page = await session.local?.browser.newPage();
      try {
        const answer = await page?.goto(item.url);
        if (answer?.status() === 404) return { invalid: true, failedReason: 'no such page' };
        console.log(item.url, await page?.title());
        return { done: true };
      } catch (error) {
        return { failed: true, failedReason: error instanceof Error ? error.message : String(error) };
      } finally {
        await page?.close();
      }
    };

    // What the sessions do not take at a time stays pending, and is distributed next.
    for (;;) {
      const pending = await runs.getPendingItems(run._id);
      if (pending.length === 0) break;
      const shares = itemsToSessions(pending, sessions.getActiveSessions(), {
        strategy: 'domain-affinity',
        maxItemsPerSession: 50,
      });
      const workThrough = async ({ session, items }: (typeof shares)[number]) => {
        for (const item of items) await runs.updateItemStatus(run._id, item, await scrape(session, item));
      };
      await Promise.all(shares.map(workThrough));
    }
    return await runs.finalizeRun(run._id);
  } finally {
    await sessions.close();
  }
}
