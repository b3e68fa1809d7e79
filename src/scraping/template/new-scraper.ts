import { lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { errorMessage } from '../../domain/error-message.ts';
import type { ScraperRegistry } from '../registry.ts';
import { type NewKind, scraperTemplate } from './scraper-template.ts';

type NewScraperAnswer =
  | { readonly kind: 'written'; readonly files: readonly string[] }
  | { readonly kind: 'refused'; readonly because: string };

const ID = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const LONGEST_ID = 64;

/** Writes the files of a new scraper: all of them or none. Existing files are never touched. */
export async function writeNewScraper(
  registry: ScraperRegistry,
  asked: { readonly id: string; readonly folder: string; readonly host: string; readonly kind: NewKind },
): Promise<NewScraperAnswer> {
  const { id, folder, host, kind } = asked;
  if (!ID.test(id) || id.length > LONGEST_ID) {
    return refused(`the id ${id} must be lower-case letters and digits, with single dashes between: maricopa-az`);
  }
  if (!isHost(host)) return refused(`--host: ${host} is not a host name like treasurer.example.gov`);
  const other = registry.fileOf(id);
  if (other !== null) return refused(`the scraper ${id} already exists: ${other}`);

  const files = scraperTemplate(id, host, kind).map(({ path, text }) => ({ file: join(resolve(folder), path), text }));
  for (const place of new Set(files.flatMap(({ file }) => [file, ...fixtureAbove(file)]))) {
    if ((await lstat(place).catch(() => null)) !== null) return refused(`${place} already exists`);
  }
  const written: string[] = [];
  try {
    for (const { file, text } of files) {
      await mkdir(dirname(file), { recursive: true });
      // Do not overwrite a file that was created just now.
      await writeFile(file, text, { flag: 'wx' });
      written.push(file);
    }
  } catch (error) {
    for (const file of written) await rm(file, { force: true });
    return refused(`it cannot be written: ${errorMessage(error)}`);
  }
  return { kind: 'written', files: written };
}

function refused(because: string): NewScraperAnswer {
  return { kind: 'refused', because };
}

function fixtureAbove(file: string): string[] {
  const folder = dirname(file);
  return folder.endsWith('.fixture') ? [folder] : [];
}

/** With a port, for a site on this machine. */
function isHost(text: string): boolean {
  return /^[a-z0-9.-]+(?::\d+)?$/.test(text) && URL.parse(`https://${text}/`)?.host === text;
}
