import { z } from 'zod';
import { FAILURE_TYPES } from '../domain/failure.ts';
import { ITEM_STATUSES } from '../domain/item.ts';
import { JOB_STATUSES } from '../domain/job-steps.ts';

/** The closed lists of the domain that requests filter by and answers contain. */
export const jobStatusSchema = z.enum(JOB_STATUSES).meta({
  id: 'JobStatus',
  description:
    'Status of a job. `completed`: every item is final and the manifests are written. A `paused` or `failed` job can be ' +
    'resumed; a `cancelled` one cannot.',
});
export const itemStatusSchema = z.enum(ITEM_STATUSES).meta({
  id: 'ItemStatus',
  description: 'Status of an item. The last four are final; only a retry reopens a failed item.',
});
export const failureTypeSchema = z
  .enum(FAILURE_TYPES)
  .meta({ id: 'FailureType', description: 'Type of failure; it decides whether the item is retried.' });
