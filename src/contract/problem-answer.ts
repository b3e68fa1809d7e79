import { z } from 'zod';
import { list, text } from './answer-fields.ts';
import { FIELD_CODES, PROBLEMS, type ProblemCode, WARNING_CODES } from './problem.ts';

const fieldErrorSchema = z
  .object({
    path: text('Such as `items.3.input.apn`; empty for the request as a whole.'),
    code: z.enum(FIELD_CODES).meta({ description: 'For programs to switch on.' }),
    message: text('What is wrong with the field, for people.'),
  })
  .meta({ id: 'FieldError', description: 'One bad field of a request.' });

export const warningSchema = z
  .object({
    path: text('The field that the warning is about.'),
    code: z.enum(WARNING_CODES).meta({ description: 'For programs to switch on.' }),
    message: text('What the server did, or what is missing, for people.'),
  })
  .meta({ id: 'Warning', description: 'Something worth knowing about a request that was accepted.' });

export const problemSchema = z
  .object({
    type: text('`urn:trawl:problem:` followed by the code.'),
    title: text('What the code means.'),
    status: z.int().meta({ description: 'The HTTP status.' }),
    code: z
      .enum(Object.keys(PROBLEMS) as ProblemCode[])
      .meta({ description: 'For programs to switch on. Codes are never renamed; new ones may be added.' }),
    detail: text('What happened and what to do next, for people.'),
    errors: list(fieldErrorSchema, 'The bad fields, up to a hundred.').optional(),
  })
  .meta({ id: 'Problem', description: 'What is wrong, where, and what to do next (RFC 9457).' });

/** A client may be older than the server, so it accepts codes that it does not know. */
export type ProblemAnswer = Omit<z.infer<typeof problemSchema>, 'code' | 'errors'> & {
  readonly code: string;
  readonly errors?: readonly { readonly path: string; readonly code?: string; readonly message: string }[];
};
export type WarningAnswer = z.infer<typeof warningSchema>;
