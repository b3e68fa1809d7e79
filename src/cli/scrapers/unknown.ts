import { suggestName } from '../../domain/near-names.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../format.ts';

/** `there is no scraper pima; did you mean pima-az?` */
export function describeUnknown(id: string, ids: readonly string[]): string {
  return `there is no scraper ${printable(id)}; ${suggestName(id, ids, 'trawl scrapers list shows all')}`;
}

/** Reports that there is no such scraper, and which one may have been meant. */
export function tellUnknown(id: string, ids: readonly string[]): void {
  process.stderr.write(`trawl: ${describeUnknown(id, ids)}\n`);
  process.exitCode = EXIT.badUsage;
}
