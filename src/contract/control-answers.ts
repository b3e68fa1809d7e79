import { z } from 'zod';
import { count, flag, text, time, timeOrNull } from './answer-fields.ts';

export const controlsAnswerSchema = z
  .object({
    tried: count('Control items sent to workers so far.'),
    good: count('How many of them returned what is expected.'),
    last: z
      .object({
        result: z.enum(['good', 'bad', 'unclear']).meta({
          description: 'bad: not found, or other data. unclear: it could not be tried, and is tried again.',
        }),
        message: text('The same for people, with the input of the control.'),
        at: time('When it was reported.'),
      })
      .nullable()
      .meta({ description: 'The last one that was reported; null before the first.' }),
    last_good_at: timeOrNull('When the last good one was begun; null before the first.'),
    next_after_items: count('Items that may still finish before the next one must have been good.'),
    is_out: flag('Whether one is being tried now.'),
    reopens: flag('Whether items that were not found since the last good one are reopened when the job runs again.'),
  })
  .meta({ id: 'Controls', description: 'Control items: what was tried, and what came back.' });
