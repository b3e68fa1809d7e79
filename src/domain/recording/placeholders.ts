import type { z } from 'zod';
import { isRecord } from '../is-record.ts';
import { problemAt, type RecordingProblem } from './problem.ts';
import type { RECORDING } from './recording.ts';
import { type Placeholder, parseTemplate, TemplateError } from './template.ts';

/** A placeholder and where it is written. */
export interface PlacedPlaceholder {
  readonly placeholder: Placeholder;
  readonly path: readonly (string | number)[];
}

/** Every placeholder in steps and conditions, and what cannot be read as one. */
export function readPlaceholders(recording: z.output<typeof RECORDING>): {
  readonly placeholders: readonly PlacedPlaceholder[];
  readonly problems: readonly RecordingProblem[];
} {
  const placeholders: PlacedPlaceholder[] = [];
  const problems: RecordingProblem[] = [];
  const visit = (value: unknown, path: readonly (string | number)[]): void => {
    if (typeof value === 'string') {
      if (!value.includes('{{')) return;
      try {
        for (const part of parseTemplate(value)) {
          if (part.kind === 'placeholder') placeholders.push({ placeholder: part, path });
        }
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        problems.push(problemAt(recording, path, error.message));
      }
    } else if (Array.isArray(value)) {
      for (const [index, each] of value.entries()) visit(each, [...path, index]);
    } else if (isRecord(value)) {
      for (const [name, each] of Object.entries(value)) visit(each, [...path, name]);
    }
  };
  const { steps, sequences, expect } = recording;
  visit(steps, ['steps']);
  visit(sequences, ['sequences']);
  visit(expect, ['expect']);
  return { placeholders, problems };
}
