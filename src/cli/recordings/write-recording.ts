import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../../domain/error-code.ts';
import type { WrittenRecording } from '../../domain/recording/recording.ts';

/** Beside the other scrapers, where it is found by its id. */
export function defaultPlace(id: string): string {
  return join('scrapers', `${id}.recording.json`);
}

export function recordingText(recording: WrittenRecording): string {
  return `${JSON.stringify(recording, null, 2)}\n`;
}

/** False if there is such a file already. */
export async function writeNew(out: string, text: string, mayReplace: boolean): Promise<boolean> {
  await mkdir(dirname(out), { recursive: true });
  try {
    await writeFile(out, text, { flag: mayReplace ? 'w' : 'wx' });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}
