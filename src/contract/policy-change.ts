import { z } from 'zod';
import { type PartialPolicy, policySchema } from '../domain/policy.ts';

/** The body of `PATCH /jobs/{job_id}`: every field of a policy is optional, without defaults. */
export const policyBody = z
  .strictObject({
    execution_policy: anyFieldOf(policySchema).meta({ description: 'Omitted fields stay as they are.' }),
  })
  .meta({ id: 'PolicyChange', description: 'Policy fields to change.' });

/** Makes the fields of an object and of its sections optional, without defaults. */
function anyFieldOf(schema: z.ZodObject): z.ZodType<PartialPolicy> {
  const fields = Object.entries(schema.shape).map(([name, field]): [string, z.ZodType] => {
    const given = withoutDefault(field as z.ZodType);
    const description = given.description ?? '';
    return [name, (given instanceof z.ZodObject ? anyFieldOf(given).meta({ description }) : given).optional()];
  });
  return z.strictObject(Object.fromEntries(fields)) as unknown as z.ZodType<PartialPolicy>;
}

function withoutDefault(field: z.ZodType): z.ZodType {
  return field instanceof z.ZodDefault || field instanceof z.ZodPrefault ? (field.unwrap() as z.ZodType) : field;
}
