import { z } from 'zod';

/** Building blocks of answers: schemas with the descriptions that the OpenAPI document shows. */
export const text = (description: string) => z.string().meta({ description });
export const textOrNull = (description: string) => z.string().nullable().meta({ description });
export const count = (description: string) => z.int().min(0).meta({ description });
export const amount = (description: string) => z.number().min(0).meta({ description });
export const amountOrNull = (description: string) => z.number().min(0).nullable().meta({ description });
export const time = (description: string) => z.iso.datetime().meta({ description });
export const timeOrNull = (description: string) => z.iso.datetime().nullable().meta({ description });
export const flag = (description: string) => z.boolean().meta({ description });
/** Present only while it is true. */
export const onlyIf = (description: string) => z.literal(true).meta({ description }).optional();
export const list = <Entry extends z.ZodType>(entry: Entry, description: string) =>
  z.array(entry).meta({ description });

export const jobId = text('The job id.');
export const itemId = text('The item id, unique within its job.');
export const nextCursor = textOrNull('Send it as `cursor` to get the next page; null on the last page.');
