import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { ConfigError } from '../config.ts';
import { safeSegment } from '../domain/artifact.ts';
import { FORMATS } from './jobs/export.ts';
import type { ListChoice } from './run-lists.ts';

/** Where a run keeps its job and writes its results. */
export interface ResultsWish {
  /** Null for the default folder. */
  readonly folder: string | null;
  /** Null for a file in the folder. */
  readonly file: string | null;
  readonly format: string;
}

interface ResultsOptions {
  readonly out?: string;
  readonly format?: string;
  readonly items?: string;
}

/** `--out parcels.csv` is a file and determines the format; any other `--out` is the folder of the job. */
export function resultsWish({ out, format, items }: ResultsOptions): ResultsWish {
  if (format !== undefined && !FORMATS.includes(format)) {
    throw new ConfigError(`--format must be one of ${FORMATS.join(', ')}`);
  }
  const extension = extname(out ?? '')
    .slice(1)
    .toLowerCase();
  if (out === undefined || !FORMATS.includes(extension)) {
    if (out !== undefined && statSync(out, { throwIfNoEntry: false })?.isFile()) {
      throw new ConfigError(`--out ${out}: is a file. A results file ends in .${FORMATS.join(', .')}`);
    }
    return { folder: out ?? null, file: null, format: format ?? 'jsonl' };
  }
  if (format !== undefined && format !== extension) {
    throw new ConfigError(`--out ${out} and --format ${format}: the file name implies another format`);
  }
  const there = statSync(out, { throwIfNoEntry: false });
  if (there?.isDirectory()) throw new ConfigError(`--out ${out}: is a folder`);
  const list = items === undefined ? undefined : statSync(items, { throwIfNoEntry: false });
  if (there !== undefined && list?.ino === there.ino && list.dev === there.dev) {
    throw new ConfigError(`--out ${out}: is the list itself, which the results would replace`);
  }
  return { folder: null, file: out, format: extension };
}

/** The first job of a folder writes its results under the plain name, and every other job to its own file. */
export function resultsPath(
  { file, format }: ResultsWish,
  dataDir: string,
  { jobId, isFirst }: Pick<ListChoice, 'jobId' | 'isFirst'>,
): string {
  if (file !== null) return file;
  const name = isFirst ? 'results' : `results-${safeSegment(jobId, (text) => hash('sha256', text))}`;
  return join(dataDir, `${name}.${format}`);
}
