import { hash } from 'node:crypto';
import { z } from 'zod';
import { NO_PRICES } from '../../src/domain/prices.ts';
import { NO_FAULTS } from '../../src/ports/faults.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import { definePlainScraper } from '../../src/scraping/define-scraper.ts';
import { ScraperRegistry } from '../../src/scraping/registry.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openFileCatalog } from '../support/file-catalog.ts';
import { openMemoryRecordings } from '../support/memory/recordings.ts';

/** `county` wants a parcel's number, `any` takes everything, `broken` cannot be used. */
export function scrapers() {
  const registry = new ScraperRegistry();
  const facts = {
    version: '2.1.0',
    description: '',
    scrape: async () => ({ kind: 'scraped', artifacts: [] }) as const,
  };
  const apn = z.string().regex(/^\d{3}$/);
  registry.add(definePlainScraper({ ...facts, id: 'county', name: 'County', input: z.strictObject({ apn }) }), 'here');
  registry.add(definePlainScraper({ ...facts, id: 'any', name: 'Any', input: z.looseObject({}) }), 'here');
  registry.addEntry({ kind: 'broken', id: 'broken', file: 'broken.ts', problem: 'broken.ts cannot be read' });
  return openFileCatalog(registry);
}

export function deskWith(ledger: Ledger) {
  const digest = (text: string) => hash('sha256', text);
  const shared = { faults: NO_FAULTS, ...openMemoryRecordings() };
  return {
    ...shared,
    ledger,
    clock: new FakeClock(),
    catalog: scrapers(),
    digest,
    defaultScraper: 'any',
    prices: NO_PRICES,
  };
}
