import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';

/** Says that there is no such scraper, and which one may have been meant. */
export function tellUnknown(id: string, near: readonly string[]): void {
  const hint = near.length === 0 ? 'trawl scrapers list shows all' : `did you mean ${near.join(' or ')}?`;
  process.stderr.write(`trawl: there is no scraper ${printable(id)}; ${hint}\n`);
  process.exitCode = EXIT.badUsage;
}
