import { z } from 'zod';

/** Schemas of what stands in answers, each with a few words for the OpenAPI document. */
export const text = (description: string) => z.string().meta({ description });
export const textOrNull = (description: string) => z.string().nullable().meta({ description });
export const count = (description: string) => z.int().min(0).meta({ description });
export const amount = (description: string) => z.number().min(0).meta({ description });
export const amountOrNull = (description: string) => z.number().min(0).nullable().meta({ description });
export const time = (description: string) => z.iso.datetime().meta({ description });
export const timeOrNull = (description: string) => z.iso.datetime().nullable().meta({ description });
export const flag = (description: string) => z.boolean().meta({ description });
/** There only while it is so. */
export const onlyIf = (description: string) => z.literal(true).meta({ description }).optional();
export const list = <Entry extends z.ZodType>(entry: Entry, description: string) =>
  z.array(entry).meta({ description });
