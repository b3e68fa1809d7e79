import { z } from 'zod';
import { amount, count, list, text, textOrNull } from './answer-fields.ts';
import { failureTypeSchema } from './statuses.ts';

/** What the API says about the steps of a job's recording. */
const durationSchema = z
  .object({
    mean: amount('The mean.'),
    p50: amount('Half of them took no longer; exact to about a fifth.'),
    p90: amount('Nine in ten took no longer; exact to about a fifth.'),
    max: amount('The longest.'),
  })
  .meta({ description: 'How long the step took, in milliseconds.' });

const stepSelectorSchema = z.object({
  selector: text('The selector as it is written in the recording, shortened.'),
  matched: count('Items in which this alternative matched; the fifth includes all after it.'),
});

const jobStepSchema = z
  .object({
    step: text(
      'Number of the step, such as `4`, or `4.then.2` inside of another; `other` for all that are not listed.',
    ),
    description: text('What it does, such as `click "Search"`.'),
    items: count('Items for which it was carried out.'),
    times: count('How often it was carried out: in a loop, several times per item.'),
    duration_ms: durationSchema.nullable().meta({
      description: 'How long the step took, in milliseconds; null if that was not measured.',
    }),
    failures: count('Items of the job that are failed at this step now.'),
    failures_pct: z.number().min(0).max(100).meta({ description: 'Its share of all failed items of the job.' }),
    failure_types: list(
      z.object({ type: failureTypeSchema, count: count('Failures of this type at this step.') }),
      'The same by type, most frequent first.',
    ),
    selectors: list(stepSelectorSchema, 'Its alternatives, in order; empty for a step without selectors.'),
    drift: textOrNull(
      'Set if the first selector has stopped matching and another does the work: the recording should be repaired before ' +
        'items fail. Null otherwise.',
    ),
  })
  .meta({ id: 'JobStep', description: 'What a job saw of one step of its recording.' });

export const jobStepsSchema = z
  .object({
    steps: list(jobStepSchema, 'In the order of the recording.'),
    failures_elsewhere: count(
      'Failed items that did not fail at a step: they took too long, or their data was refused.',
    ),
  })
  .meta({
    id: 'JobSteps',
    description:
      'What a job saw of the steps of its recording. Failures are exact; durations and matches are reported by workers every ' +
      'few seconds, and those of a killed worker may be missing.',
  });

export type JobStepsAnswer = z.infer<typeof jobStepsSchema>;
export type JobStepAnswer = z.infer<typeof jobStepSchema>;
