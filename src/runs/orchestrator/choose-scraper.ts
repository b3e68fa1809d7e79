import type { CatalogScraper, ScraperCatalog } from '../../controller/intake/scraper-catalog.ts';
import { findScraper } from '../../controller/jobs/submit.ts';
import { domainOf } from '../../domain/items-to-sessions.ts';

export type ChosenScraper =
  | {
      readonly scraper: CatalogScraper;
      /** The field of its input that takes the URL. */
      readonly field: string;
    }
  | { readonly problem: string };

/** The scraper that is named, or the one that has the domain among its hosts. */
export async function chooseScraper(
  catalog: Pick<ScraperCatalog, 'find' | 'list'>,
  id: string | null,
  domain: string,
): Promise<ChosenScraper> {
  const chosen = id === null ? await forDomain(catalog, domain) : { id };
  if ('problem' in chosen) return chosen;
  const found = await findScraper({ catalog }, chosen.id);
  if (found.scraper === undefined) return { problem: found.problem };
  const field = urlField(found.scraper.input);
  if (field !== null) return { scraper: found.scraper, field };
  return {
    problem: `scraper ${chosen.id} takes more than a URL: its input has no field url, and not exactly one required`,
  };
}

async function forDomain(
  catalog: Pick<ScraperCatalog, 'list'>,
  domain: string,
): Promise<{ readonly id: string } | { readonly problem: string }> {
  const known = (await catalog.list()).flatMap((entry) => (entry.kind === 'known' ? [entry.summary] : []));
  const fits = known.filter(({ hosts }) => hosts?.some((host) => isOfDomain(host, domain)));
  const [only, another] = fits;
  if (only === undefined) return { problem: `no scraper has the host ${domain}: name one` };
  if (another === undefined) return only;
  return { problem: `several scrapers have hosts of ${domain}: name one of ${fits.map(({ id }) => id).join(', ')}` };
}

/** `treasurer.county.gov` and `*.county.gov` are of the domain `county.gov`, and so is `county.gov` itself. */
function isOfDomain(host: string, domain: string): boolean {
  const [own, wanted] = [domainOf(`https://${host.replace(/^\*\./, '')}/`), domainOf(`https://${domain}/`)];
  return own === wanted || own.endsWith(`.${wanted}`);
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/** `url`, or the only field that is required. A scraper that takes any input gets `url`. */
function urlField({ properties = {}, required = [] }: ObjectSchema): string | null {
  if (Object.hasOwn(properties, 'url')) return required.every((name) => name === 'url') ? 'url' : null;
  const [only, ...others] = required;
  if (only === undefined) return 'url';
  return others.length === 0 ? only : null;
}
