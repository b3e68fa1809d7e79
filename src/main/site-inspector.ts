import type { Config } from '../config.ts';
import type { Clock } from '../ports/clock.ts';
import type { SiteInspector } from '../ports/site-inspector.ts';
import { openVisitorTools } from './scrapers.ts';
import { docsUserAgent } from './user-agent.ts';

/** Limit for all requests of one look. */
const LONGEST_LOOK_MS = 90_000;

type VisitorTools = Awaited<ReturnType<typeof openVisitorTools>>;

/** Contacts sites as workers do, under the same rules. Its connection to the web is opened for the first look. */
export function openSiteInspector(config: Config, clock: Clock): SiteInspector & { close(): Promise<void> } {
  const userAgent = docsUserAgent(config);
  let opening: Promise<VisitorTools> | null = null;
  return {
    async inspect(asked, signal) {
      opening ??= openVisitorTools(config, clock, () => {});
      const { web, gate } = await opening;
      const { siteInspector } = await import('../scraping/sites/inspect-site.ts');
      const ended = new AbortController();
      const late = new AbortController();
      void clock.sleep(LONGEST_LOOK_MS, ended.signal).then(() => {
        if (!ended.signal.aborted) late.abort(LATE);
      });
      try {
        const both = AbortSignal.any([signal, late.signal]);
        return await siteInspector({ web, gate, userAgent }).inspect(asked, both);
      } catch (error) {
        if (error !== LATE) throw error;
        return { kind: 'unreadable', message: `The site did not answer within ${LONGEST_LOOK_MS / 1000} s.` };
      } finally {
        ended.abort();
      }
    },
    async close() {
      await (await opening)?.close();
    },
  };
}

const LATE = new Error('the look took too long');
