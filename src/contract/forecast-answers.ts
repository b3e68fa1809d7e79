import { z } from 'zod';
import { amountOrNull } from './answer-fields.ts';

/** Predictions for a running job. */
export const jobForecastSchema = z
  .object({
    items_per_second: amountOrNull('Items finished per second; null until there is enough data.'),
    eta_seconds: amountOrNull('Time left at the current rate; null while the job is not running or nothing moves.'),
    eta_low_seconds: amountOrNull('The lower end of a 90 % range for the time left.'),
    eta_high_seconds: amountOrNull('The upper end of that range.'),
    failure_rate: amountOrNull('Share of finished items that failed, from 0 to 1; null until an item has finished.'),
    requests_expected: amountOrNull('Requests of the whole job; null until an item has finished. So far: see `usage`.'),
    bytes_expected: amountOrNull('Bytes sent and received by the whole job.'),
    cost_expected: amountOrNull('Cost of the whole job; null if a price is unknown.'),
  })
  .meta({ id: 'JobForecast', description: 'What the rest of the job will take if it goes on as it does now.' });

export type JobForecastAnswer = z.infer<typeof jobForecastSchema>;
