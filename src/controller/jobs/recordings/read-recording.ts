import type { FieldError } from '../../../contract/problem.ts';
import type { WarningAnswer } from '../../../contract/problem-answer.ts';
import type { Digest } from '../../../domain/artifact.ts';
import type { SentRecording } from '../../../domain/recording/kept-recording.ts';

/** The id of a scraper that is a plain list of actions, which has none. */
const ID_OF_ACTIONS = 'inline-actions';

/** More would not help the reader. */
const MAX_NOTES = 50;

export type ReadInline =
  | { readonly sent: SentRecording; readonly warnings: readonly WarningAnswer[] }
  | { readonly problems: readonly FieldError[] };

/** The recording that a request for a job carries: a whole one, or a plain list of actions. */
export async function readInlineRecording(value: unknown, digest: Digest): Promise<ReadInline> {
  // Loaded on demand: the schemas of all steps are many, and most jobs have no recording.
  const { readSentActions, readSentRecording } = await import('../../../domain/recording/read-sent.ts');
  const read = Array.isArray(value) ? readSentActions(value, ID_OF_ACTIONS, digest) : readSentRecording(value, digest);
  if (!read.ok) {
    return { problems: read.problems.map((problem) => ({ ...problem, path: within(problem.path) })) };
  }
  const { notes } = read;
  const more = notes.length > MAX_NOTES ? [`and ${notes.length - MAX_NOTES} more`] : [];
  const warnings = [...notes.slice(0, MAX_NOTES), ...more].map((message) => {
    return { path: 'recording', code: 'recording_converted' as const, message };
  });
  return { sent: read.sent, warnings };
}

function within(path: string): string {
  return path === '' ? 'recording' : `recording.${path}`;
}
