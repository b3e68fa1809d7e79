import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder with these files, somewhere outside of the project; gone after the test. */
export function folderWith(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trawl-scrapers-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** The source of a scraper that does nothing, by `definePlainScraper`. */
export function plainSource(id: string, more = ''): string {
  return `import { definePlainScraper, z } from 'trawl/scraper';
export default definePlainScraper({
  id: '${id}', name: 'The ${id}', version: '1.2.3', description: 'Does nothing.', input: z.unknown(),
  async scrape() { return { kind: 'scraped', artifacts: [] }; },
});
${more}`;
}
