import { z } from 'zod';
import { count, flag, itemId, list, text } from './answer-fields.ts';
import { createdSchema } from './job-answers.ts';

/** What the API says about re-extractions. */
const fieldChangeSchema = z.object({
  field: text('Such as `owner`, or `bills[].amount` for a field of a list.'),
  items: count('Items in which the field differs.'),
  added: count('How many of those did not have the field before.'),
  removed: count('How many of those no longer have the field.'),
  examples: list(
    z.object({
      item_id: itemId,
      before: z.unknown().meta({ description: 'The old value.' }),
      after: z.unknown().meta({ description: 'The new value.' }),
    }),
    'A few of the items.',
  ),
});

/** The part of the answer that is counted while data are compared, and stored with the results of the job. */
export const changeTallySchema = z.object({
  compared: count('Items compared so far.'),
  changed: count('Items in which at least one field differs.'),
  recovered: count('Items that had failed and can now be read. They become successes when the results are replaced.'),
  fields: list(fieldChangeSchema, 'Fields that differ in at least one item.'),
});

export const changesSchema = z
  .object({
    job_id: text('The re-extraction.'),
    extracts: text('The job whose stored pages it read.'),
    state: z
      .enum(['waiting', 'comparing', 'complete'])
      .meta({ description: 'waiting: the job is not over. comparing: ask again later.' }),
    ...changeTallySchema.shape,
    total: count('Items to compare.'),
    failed: count('Items that the new parse could not read. They keep their old data.'),
    replaced: flag('Whether its data have replaced those of the older job.'),
  })
  .meta({ id: 'Changes', description: 'What a re-extraction found different, field by field.' });

/** The part of a comparison that is counted while it runs. */
const comparisonTallySchema = z.object({
  examined: count('Successes of both jobs that were looked at so far.'),
  compared: count('Items that succeeded in both jobs.'),
  changed: count('How many of those have at least one field that differs.'),
  appeared: count('Items that succeeded in this job but not in the other.'),
  appeared_examples: list(itemId, 'A few of them.'),
  vanished: count('Items that succeeded in the other job but not in this one.'),
  vanished_examples: list(itemId, 'A few of them.'),
  fields: list(fieldChangeSchema, 'Fields that differ in at least one item that succeeded in both jobs.'),
});

export const comparisonSchema = z
  .object({
    job_id: text('The job.'),
    with: text('The job that it is compared with; its values are those before.'),
    state: z
      .enum(['waiting', 'comparing', 'complete'])
      .meta({ description: 'waiting: one of the jobs is not over. comparing: ask again later.' }),
    ...comparisonTallySchema.shape,
    total: count('Successes of both jobs: what `examined` reaches.'),
  })
  .meta({ id: 'Comparison', description: 'Differences between the data of two jobs.' });

export const extractedSchema = createdSchema
  .extend({
    extracts: text('The job whose stored pages it reads.'),
    without_page: count('Items that succeeded or failed but have no stored page. They stay as they are.'),
  })
  .meta({ id: 'CreatedExtraction', description: 'A re-extraction that was created.' });

export type ChangeTallyAnswer = z.infer<typeof changeTallySchema>;
export type ChangesAnswer = z.infer<typeof changesSchema>;
export type ExtractedAnswer = z.infer<typeof extractedSchema>;
export type ComparisonTallyAnswer = z.infer<typeof comparisonTallySchema>;
export type ComparisonAnswer = z.infer<typeof comparisonSchema>;
