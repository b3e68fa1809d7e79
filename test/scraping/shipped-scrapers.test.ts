import { test } from 'node:test';
import { certify } from 'trawl/scraper';

/** Every scraper that comes with Trawl and goes to a site of its own, over pages that were recorded there. */
for (const file of ['az/maricopa.ts', 'demo/county.ts', 'demo/parcel.ts', 'demo/county-recorded.recording.json']) {
  test(`scrapers/${file} reads its recorded pages as it did`, () =>
    certify(new URL(`../../scrapers/${file}`, import.meta.url)));
}
