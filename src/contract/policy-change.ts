import { z } from 'zod';
import { type Policy, policySchema } from '../domain/policy.ts';

/** Any of a policy's fields, section by section; what is omitted stays as it is. */
export type PolicyChange = {
  readonly [Section in keyof Policy]?: Policy[Section] extends string ? Policy[Section] : Partial<Policy[Section]>;
};

/** The body of `PATCH /jobs/{job_id}`: it knows every field of a policy, and fills in no defaults. */
export const policyBody = z
  .strictObject({
    execution_policy: anyFieldOf(policySchema).meta({ description: 'Omitted fields stay as they are.' }),
  })
  .meta({ id: 'PolicyChange', description: 'Policy fields to change.' });

/** Any of an object's fields, and of its sections' fields, without defaults. */
function anyFieldOf(schema: z.ZodObject): z.ZodType<PolicyChange> {
  const fields = Object.entries(schema.shape).map(([name, field]): [string, z.ZodType] => {
    const given = withoutDefault(field as z.ZodType);
    const description = given.description ?? '';
    return [name, (given instanceof z.ZodObject ? anyFieldOf(given).meta({ description }) : given).optional()];
  });
  return z.strictObject(Object.fromEntries(fields)) as unknown as z.ZodType<PolicyChange>;
}

function withoutDefault(field: z.ZodType): z.ZodType {
  return field instanceof z.ZodDefault || field instanceof z.ZodPrefault ? (field.unwrap() as z.ZodType) : field;
}
