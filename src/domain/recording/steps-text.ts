import { z } from 'zod';
import { MAX_STEP_LABEL_LENGTH, MAX_STEP_PATH_LENGTH } from '../failure.ts';
import { MAX_SIZE } from './step-spans.ts';
import { type JobSteps, MAX_COUNTED, MAX_SELECTOR_LENGTH, MAX_SLICES, MAX_STEPS } from './step-statistics.ts';

/** What was seen of the steps of a job, as a text of about 200 bytes per step, which is stored with every report. */
export function stepsToText(steps: JobSteps): string {
  const packed = steps.map(({ step, selectors, items, spans, matched, slices }): PackedStep => {
    const { count, totalMs, longestMs, sizes } = spans;
    return [
      step.path,
      step.label,
      [...selectors],
      items,
      [count, totalMs, longestMs, [...sizes]],
      [...matched],
      slices.map((slice) => [slice.minute, slice.items, slice.missed]),
    ];
  });
  return JSON.stringify(packed);
}

/** Null if it is not such a text. */
export function stepsFromText(text: string): JobSteps | null {
  const parsed = packedSchema.safeParse(parseJson(text));
  if (!parsed.success) return null;
  return parsed.data.map(([path, label, selectors, items, [count, totalMs, longestMs, sizes], matched, slices]) => ({
    step: { path, label },
    selectors,
    items,
    spans: { count, totalMs, longestMs, sizes: new Map(sizes) },
    matched,
    slices: slices.map(([minute, seen, missed]) => ({ minute, items: seen, missed })),
  }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const whole = z.int().min(0);

/** Masking a secret may make a text longer. */
const MASKED = 8;

const stepSchema = z.tuple([
  z.string().max(MAX_STEP_PATH_LENGTH),
  z.string().max(MASKED * MAX_STEP_LABEL_LENGTH),
  z.array(z.string().max(MASKED * MAX_SELECTOR_LENGTH)).max(MAX_COUNTED),
  whole,
  z.tuple([whole, whole, whole, z.array(z.tuple([whole.max(MAX_SIZE), whole])).max(MAX_SIZE + 1)]),
  z.array(whole).max(MAX_COUNTED),
  z.array(z.tuple([whole, whole, whole])).max(MAX_SLICES),
]);

/** One more for all other steps. */
const packedSchema = z.array(stepSchema).max(MAX_STEPS + 1);

type PackedStep = z.infer<typeof stepSchema>;
