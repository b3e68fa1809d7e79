import { z } from 'zod';
import { MIN_SECRET_LENGTH } from './secrets.ts';

const notForWorkers = { fallback: '', isForWorkers: false } as const;

/** Rows of the table in settings.ts: the ETL API that keeps scrape runs. Scrapers need neither of them. */
export const ETL_SETTINGS = {
  etlApiEndpoint: {
    ...{ ...notForWorkers, variable: 'ETL_API_ENDPOINT' },
    schema: z
      .string()
      .refine(
        (text) => text === '' || isEndpoint(text),
        'must be an address like https://etl.example.com, without name and password: the key is ETL_API_KEY',
      ),
    about:
      'the ETL API that keeps scrape runs; its paths begin with `/api/scrape-runs` ([scrape runs](scrape-runs.md)). `trawl serve` is such a server, too',
  },
  etlApiKey: {
    ...{ ...notForWorkers, variable: 'ETL_API_KEY' },
    // Not in the message: it would show the key.
    schema: z.string().regex(/^[\x21-\x7e]*$/, 'must be printable ASCII characters without spaces'),
    isSecret: true as const,
    about: 'the key of that API, sent as a bearer token',
  },
} as const;

function isEndpoint(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

export interface EtlPlaces {
  readonly etlApiEndpoint: string;
  readonly etlApiKey: string;
}

/** What to set before runs can be used; null if nothing is missing. */
export function etlProblem({ etlApiEndpoint, etlApiKey }: EtlPlaces): string | null {
  const missing = [
    ...(etlApiEndpoint === '' ? ['ETL_API_ENDPOINT to the address of the ETL API'] : []),
    ...(etlApiKey === '' ? ['ETL_API_KEY to its key'] : []),
  ];
  return missing.length === 0 ? null : `scrape runs are kept in an ETL API: set ${missing.join(', and ')}`;
}

/** Values that must not appear in any text, by name. */
export function etlSecrets({ etlApiKey = '' }: Partial<EtlPlaces>): ReadonlyMap<string, string> {
  return new Map(etlApiKey.length < MIN_SECRET_LENGTH ? [] : [['etl_api_key', etlApiKey]]);
}
