import { z } from 'zod';
import { amount, count, flag, itemId, list, text, textOrNull, timeOrNull } from './answer-fields.ts';
import { failureGroupSchema } from './failure-answers.ts';
import { badLineSchema } from './item-answers.ts';
import { warningSchema } from './problem-answer.ts';

/** What the API says about a job before it is created. */

const range = z.object({
  expected: amount('The most likely value.'),
  low: amount('One of twenty jobs needs less.'),
  high: amount('One of twenty jobs needs more.'),
});
const estimate = (description: string) => range.meta({ description });
const estimateOrNull = (description: string) => range.nullable().meta({ description });

const forecastSchema = z
  .object({
    duration_seconds: estimate('From the first item to the last.'),
    items_per_second: estimate('Items finished per second.'),
    failure_rate: estimate('Share of items that fail, from 0 to 1.'),
    requests: estimateOrNull('HTTP requests; null if they are not recorded.'),
    bytes: estimateOrNull('Bytes sent and received; null if they are not recorded.'),
    cost: estimateOrNull('Cost of the traffic at the configured prices; null if there are none.'),
  })
  .meta({
    id: 'PlanForecast',
    description:
      'What a job of the whole list will take, if the site behaves as it did during the sample: blocks and outages are not included.',
  });

const countFields = {
  items: count('Items that a job of this list would have.'),
  received: count('Lines, rows or entries that were read.'),
  bad: count('Lines that cannot be used. `POST /jobs` refuses them; a list leaves them out.'),
  duplicates: count('Lines whose id an earlier line has.'),
  conflicts: count('Duplicates that come with a different input. A job keeps the first one.'),
};

const inputsSchema = z
  .object({
    ...countFields,
    bad_lines: list(badLineSchema, 'The first twenty bad lines. In a JSON array, the line is the number of the entry.'),
    conflicting: list(
      z.object({
        item_id: itemId,
        line: count('The line.'),
        first_line: count('The earlier line that has this id.'),
      }),
      'The first twenty conflicts.',
    ),
    ignored_columns: list(text('Name of a column.'), 'Columns of a CSV that the scraper does not know.'),
    incomplete: flag('Whether part of the list could not be read at all.'),
    compared_ids: count('Ids that later lines were compared with: fewer than `items` only for a list of millions.'),
  })
  .meta({ id: 'PlanInputs', description: 'The result of checking the inputs.' });

export const planSchema = z
  .object({
    plan_id: text('The plan id, which is also the id of the job that runs the sample.'),
    status: z.enum(['running', 'ready']).meta({ description: 'Whether the sample is still running.' }),
    scraper_id: text('The scraper.'),
    inputs: z.object(countFields).meta({ description: 'Counts of the inputs.' }),
    sample: z
      .object({
        items: count('Items of the sample, spread over the list.'),
        finished: count('Items of the sample that are final.'),
        success: count('Scraped.'),
        failed: count('Failed.'),
        skipped: count('Skipped.'),
        stopped: textOrNull('Why the sample was stopped before its end, such as by the breaker; null if it was not.'),
      })
      .meta({ description: 'The items that were run. A job runs them again.' }),
    forecast: forecastSchema.nullable().meta({ description: 'From what is final so far; null until something is.' }),
    failures: list(failureGroupSchema, 'Failures of the sample, most frequent first.'),
    expires_at: timeOrNull('When the plan and its results are deleted; null if they are kept.'),
  })
  .meta({ id: 'Plan', description: 'A plan: a sample of a list, and what it says about the whole.' });

export const plannedSchema = z
  .object({
    plan: planSchema
      .nullable()
      .meta({ description: 'Null if no item was run: none was asked for, or none is usable.' }),
    inputs: inputsSchema,
    warnings: list(warningSchema, 'What the job would be warned about.'),
  })
  .meta({ id: 'PlannedJob', description: 'The inputs, and the plan whose sample was begun.' });

export type PlanAnswer = z.infer<typeof planSchema>;
export type PlannedAnswer = z.infer<typeof plannedSchema>;
export type PlanInputsAnswer = z.infer<typeof inputsSchema>;
