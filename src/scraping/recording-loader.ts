import { hash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { errorMessage } from '../domain/error-message.ts';
import type { Recording } from '../domain/recording/recording.ts';
import { scanOrRecall } from './kept-scans.ts';
import type { ScraperLoader } from './scraper-loader.ts';

/** Larger than any recording that is accepted, inline files included. */
const MAX_BYTES = 10 << 20;

/** How many problems a message shows; `trawl recordings check` shows all. */
const SHOWN_PROBLEMS = 3;

/** For scrapers that are a recording: `NAME.recording.json`. */
export const RECORDING_LOADER: ScraperLoader = openLoader();

function openLoader(): ScraperLoader {
  /** Digest of each file's content when it was loaded last, whether or not it could be used. */
  const loaded = new Map<string, string>();
  return {
    async scan(file) {
      const content = await readContent(file);
      return await scanOrRecall(file, content.toString('utf8'), {
        version: stampSchemas,
        async scan() {
          const { id, name, version, description, hosts } = await parseFile(file, content);
          return { kind: 'scraper', summary: { id, name, version, description, hosts, kind: 'recording' } };
        },
      });
    },
    async load(file) {
      const content = await readContent(file);
      loaded.set(file, digest(content));
      const recording = await parseFile(file, content);
      return (await import('./actions/recording-scraper.ts')).recordingScraper(recording);
    },
    hasChanged(file) {
      const known = loaded.get(file);
      if (known === undefined) return false;
      try {
        return digest(readFileSync(file)) !== known;
      } catch {
        // A file that is being replaced; if it is gone for good, what was loaded goes on being used.
        return false;
      }
    },
    codeOf: (file) => loaded.get(file) ?? null,
  };
}

/** The recording in a file. Throws an Error that names the file. */
export async function readRecording(file: string): Promise<Recording> {
  return parseFile(file, await readContent(file));
}

async function readContent(file: string): Promise<Buffer> {
  const handle = await open(file).catch((error: unknown) => {
    throw new Error(`${file} cannot be read: ${errorMessage(error)}`);
  });
  try {
    const { size } = await handle.stat();
    if (size > MAX_BYTES) throw new Error(`${file} is larger than a recording may be (${MAX_BYTES} bytes)`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** The schemas of all steps are loaded only where there is a recording. */
async function parseFile(file: string, content: Buffer): Promise<Recording> {
  let document: unknown;
  try {
    document = JSON.parse(content.toString('utf8'));
  } catch (error) {
    throw new Error(`${file} is not JSON: ${errorMessage(error)}`);
  }
  const { parseRecording } = await import('../domain/recording/parse-recording.ts');
  const parsed = parseRecording(document);
  if (parsed.ok) return parsed.recording;
  const { describeProblem } = await import('../domain/recording/problem.ts');
  const shown = parsed.problems.slice(0, SHOWN_PROBLEMS).map(describeProblem);
  const more = parsed.problems.length - shown.length;
  throw new Error(`${file}: ${shown.join('; ')}${more > 0 ? `; and ${more} more (trawl recordings check)` : ''}`);
}

/** Of the files that decide what a recording is: reading all of them would take as long as using them. */
async function stampSchemas(): Promise<string> {
  const names = readdirSync(SCHEMAS).filter((name) => name.endsWith('.ts'));
  return names
    .sort()
    .map((name) => {
      const { mtimeMs, size } = statSync(new URL(name, SCHEMAS));
      return `${name} ${mtimeMs} ${size}`;
    })
    .join();
}

const SCHEMAS = new URL('../domain/recording/', import.meta.url);

function digest(content: Buffer): string {
  return hash('sha256', content);
}
