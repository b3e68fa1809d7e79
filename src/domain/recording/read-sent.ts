import type { Digest } from '../artifact.ts';
import { canonicalJson } from '../canonical-json.ts';
import type { FieldProblem } from '../schema-problems.ts';
import { checkShape } from './check-shape.ts';
import { importRecording } from './import/import-recording.ts';
import { MAX_SENT_BYTES, type SentRecording } from './kept-recording.ts';
import { parseRecording } from './parse-recording.ts';
import { describeProblem, type RecordingProblem } from './problem.ts';
import type { Recording } from './recording.ts';

/** A recording that came with a request. */
export type ReadSent =
  | {
      readonly ok: true;
      readonly recording: Recording;
      readonly sent: SentRecording;
      /** What became of the actions of a plain list that could not be taken as they are. */
      readonly notes: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

/** Checked exactly as a file is (`trawl recordings check`). */
export function readSentRecording(document: unknown, digest: Digest): ReadSent {
  const parsed = parseRecording(document);
  if (!parsed.ok) return { ok: false, problems: parsed.problems.map(fieldProblem) };
  // An object, since it was accepted; `$schema` is for editors.
  const { $schema: _, ...written } = document as Record<string, unknown>;
  const size = new TextEncoder().encode(JSON.stringify(written)).length;
  if (size > MAX_SENT_BYTES) {
    const message = `has ${size} bytes of JSON, and at most ${MAX_SENT_BYTES} are accepted: make it a file beside the scrapers`;
    return { ok: false, problems: [{ path: '', message }] };
  }
  const sent = { document: written, digest: digest(canonicalJson(written)) };
  return { ok: true, recording: parsed.recording, sent, notes: [] };
}

/** A plain list of actions, `[{action, selector, value, url}]`, which has no id of its own. */
export function readSentActions(actions: readonly unknown[], id: string, digest: Digest): ReadSent {
  const misshapen = checkShape(actions);
  if (misshapen !== null) return { ok: false, problems: [fieldProblem(misshapen)] };
  const imported = importRecording(JSON.stringify(actions), { id, parameterize: false });
  if (!imported.ok) return { ok: false, problems: [{ path: '', message: imported.problem }] };
  const notes = [
    ...imported.lost.map(({ entry, message }) => `${entry} is left out: ${message}`),
    ...imported.changed.map(({ entry, message }) => `${entry} is changed: ${message}`),
  ];
  const read = readSentRecording(imported.recording, digest);
  return read.ok ? { ...read, notes } : read;
}

function fieldProblem(problem: RecordingProblem): FieldProblem {
  return { path: documentPath(problem), message: describeProblem(problem) };
}

/** Steps are counted from 1 in messages, as people do, and from 0 in paths, as everywhere in requests. */
function documentPath({ step, field }: RecordingProblem): string {
  const [first = '', ...rest] = step?.split('.') ?? [];
  const isOfSteps = /^\d+$/.test(first);
  const list = step === null ? [] : isOfSteps ? ['steps', first, ...rest] : ['sequences', first, ...rest];
  const path = list.map((part, at) => (at > 0 && /^\d+$/.test(part) ? String(Number(part) - 1) : part));
  return [...path, ...(field === '' ? [] : [field])].join('.');
}
