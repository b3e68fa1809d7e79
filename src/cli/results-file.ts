import { open, rename, rm } from 'node:fs/promises';
import type { OpenController } from '../main/controller.ts';
import type { ResultsFile } from './run-report.ts';

const BATCH_CHARACTERS = 256 * 1024;

/**
 * Writes one line per item, in the order of the list, to another file that is then renamed, so that a reader finds
 * either all of it or none. Null if `signal` aborted first; the previous file is then still there.
 */
export async function writeResults(
  { resultRows }: Pick<OpenController, 'resultRows'>,
  jobId: string,
  path: string,
  signal: AbortSignal,
): Promise<ResultsFile | null> {
  const unfinished = `${path}.unfinished`;
  const file = await open(unfinished, 'w', 0o600);
  let rows = 0;
  let damaged = 0;
  try {
    let batch = '';
    for await (const row of resultRows(jobId)) {
      if (signal.aborted) return null;
      batch += `${JSON.stringify(row)}\n`;
      rows += 1;
      if (row.data_problem !== undefined) damaged += 1;
      if (batch.length < BATCH_CHARACTERS) continue;
      await file.writeFile(batch);
      batch = '';
    }
    await file.writeFile(batch);
    await file.sync();
    await rename(unfinished, path);
    return { path, rows, damaged };
  } finally {
    await file.close();
    await rm(unfinished, { force: true });
  }
}
