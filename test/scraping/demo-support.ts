import assert from 'node:assert/strict';
import { type County, type CountyOptions, startCounty } from '../../demo/county.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import type { ArtifactKind } from '../../src/domain/artifact.ts';
import type { ItemInput } from '../../src/domain/item.ts';
import { parseAddressRanges } from '../../src/egress/address-range.ts';
import { AddressRules } from '../../src/egress/address-rules.ts';
import { openWeb } from '../../src/egress/open-web.ts';
import { parseRoutes } from '../../src/egress/routes.ts';
import type { Web } from '../../src/egress/web.ts';
import { OPEN_GATE } from '../../src/ports/host-gate.ts';
import type { Draft } from '../../src/ports/result-store.ts';
import { BatchScope } from '../../src/scraping/batch-scope.ts';
import type { ScrapeContext, ScrapeResult, Scraper } from '../../src/scraping/scraper.ts';
import { UsageMeter } from '../../src/scraping/usage-meter.ts';
import { NOW, policyOf } from '../support/builders.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { NO_TOOLS } from '../support/no-tools.ts';

/** The demo county, and the real way there under its public name. */
export interface Visited {
  readonly county: County;
  readonly web: Web;
  /** What the host gate was asked to do. */
  readonly held: { readonly host: string; readonly ms: number }[];
  setFaults(plan: object): Promise<void>;
  scrape(scraper: Scraper, input: ItemInput, more?: { web?: Web; timeoutSeconds?: number }): Promise<ScrapeResult>;
}

export async function visitCounty(
  t: { after(end: () => Promise<void>): void },
  options: CountyOptions = {},
): Promise<Visited> {
  const county = await startCounty({ parcels: 5000, ...options });
  const routes = parseRoutes(`http://demo-county.test=${county.url}`);
  const rules = new AddressRules(parseAddressRanges('loopback'));
  const web = openWeb({ rules, routes, clock: systemClock() });
  t.after(async () => {
    await web.close();
    await county.close();
  });
  const store = openMemoryResultStore();
  const held: { host: string; ms: number }[] = [];
  return {
    county,
    web,
    held,
    async setFaults(plan) {
      const answer = await fetch(`${county.url}/__control/faults`, { method: 'PUT', body: JSON.stringify(plan) });
      assert.equal(answer.status, 200, await answer.text());
    },
    scrape: (scraper, input, { web: way = web, timeoutSeconds = 30 } = {}) => {
      const context: ScrapeContext = {
        ...{
          jobId: 'job-1',
          jobCreatedAt: 0,
          itemId: 'item-1',
          input,
          depth: 0,
          tryNumber: 1,
          identity: 0,
          proxySession: 0,
        },
        proxyType: 'none',
        batch: new BatchScope(),
        usage: new UsageMeter(),
        policy: policyOf({ timeouts: { request_timeout_seconds: timeoutSeconds } }),
        tools: {
          web: way,
          gate: {
            ...OPEN_GATE,
            hold: (host, ms) => held.push({ host, ms }),
            noteTrouble: () => 'frequent',
          },
          ...{
            log: NO_TOOLS.log,
            secrets: NO_TOOLS.secrets,
            states: NO_TOOLS.states,
            robots: NO_TOOLS.robots,
            browser: null,
            siteTools: null,
            allowsScripts: false,
          },
        },
        signal: new AbortController().signal,
        now: () => NOW,
        sleep: async () => {},
        isRetried: () => false,
        waitUncounted: (wait) => wait(),
        draft: () => store.draft(),
        withInput: (checked) => ({ ...context, input: checked }),
      };
      return scraper.scrape(context);
    },
  };
}

/** The bytes of one artifact; null when there is none of the kind. */
export function artifactOf(result: ScrapeResult, kind: ArtifactKind): Uint8Array | Draft | null {
  if (result.kind !== 'scraped') assert.fail(JSON.stringify(result));
  return result.artifacts.find((artifact) => artifact.kind === kind)?.bytes ?? null;
}

export function jsonOf(result: ScrapeResult, kind: ArtifactKind): unknown {
  const bytes = artifactOf(result, kind);
  assert.ok(bytes instanceof Uint8Array);
  return JSON.parse(Buffer.from(bytes).toString());
}

/** What becomes part of the item's metadata.json. */
export function factsOf(result: ScrapeResult): unknown {
  assert.ok(result.kind !== 'skipped');
  return result.facts;
}
