import { readFileSync } from 'node:fs';
import { type Config, ConfigError } from '../config.ts';
import { errorCode } from '../domain/error-code.ts';
import { errorMessage } from '../domain/error-message.ts';
import { schemaProblems } from '../domain/schema-problems.ts';
import { type Site, sitesFileSchema } from '../domain/site.ts';
import { siteBase } from '../domain/site-url.ts';

const USUAL_FILE = 'sites.json';

/** Sites of the configured file, by id; empty if the default file does not exist. Throws ConfigError. */
export function readSitesFile({ sitesFile }: Pick<Config, 'sitesFile'>): ReadonlyMap<string, Site> {
  const file = sitesFile === '' ? USUAL_FILE : sitesFile;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (sitesFile === '' && errorCode(error) === 'ENOENT') return new Map();
    throw new ConfigError(`TRAWL_SITES_FILE: ${errorMessage(error)}`);
  }
  return parseSitesFile(file, text);
}

function parseSitesFile(file: string, text: string): ReadonlyMap<string, Site> {
  const { data, error } = sitesFileSchema.safeParse(parseJson(file, text));
  if (data === undefined) {
    const problems = schemaProblems(error).map(({ path, message }) => `${path === '' ? 'the file' : path}: ${message}`);
    throw new ConfigError(`${file}: ${problems.join('; ')}`);
  }
  const bases = new Map<string, string>();
  for (const [id, { baseUrl }] of Object.entries(data.sites)) {
    const base = siteBase(baseUrl) ?? baseUrl;
    const other = bases.get(base);
    if (other !== undefined) throw new ConfigError(`${file}: sites.${id}.baseUrl: ${other} has the same`);
    bases.set(base, id);
  }
  return new Map(Object.entries(data.sites).map(([id, config]) => [id, { id, config }]));
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ConfigError(`${file} is not JSON: ${errorMessage(error)}`);
  }
}
