import { readFile } from 'node:fs/promises';
import { errorMessage } from '../../domain/error-message.ts';
import { type ParsedRecording, parseRecording } from '../../domain/recording/parse-recording.ts';
import { describeProblem } from '../../domain/recording/problem.ts';

/** Larger than any recording that is accepted, inline files included. */
const MAX_BYTES = 10 << 20;

export type ReadRecording =
  | (ParsedRecording & { readonly ok: true })
  | { readonly ok: false; readonly problems: readonly string[] };

export async function readRecordingFile(file: string): Promise<ReadRecording> {
  const text = await readTextFile(file);
  if (!text.ok) return { ok: false, problems: [text.problem] };
  let document: unknown;
  try {
    document = JSON.parse(text.text);
  } catch (error) {
    return { ok: false, problems: [`is not JSON: ${errorMessage(error)}`] };
  }
  const parsed = parseRecording(document);
  return parsed.ok ? parsed : { ok: false, problems: parsed.problems.map(describeProblem) };
}

export async function readTextFile(
  file: string,
): Promise<{ readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string }> {
  try {
    const bytes = await readFile(file);
    if (bytes.length > MAX_BYTES) return { ok: false, problem: `is larger than ${MAX_BYTES >> 20} MiB` };
    return { ok: true, text: bytes.toString('utf8') };
  } catch (error) {
    return { ok: false, problem: `cannot be read: ${errorMessage(error)}` };
  }
}
