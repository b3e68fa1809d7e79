import { num, type Row } from './attributes.ts';

/**
 * A change of a row, as an expression of DynamoDB. In expressions the attribute `name` is always written `#name`,
 * because hundreds of names are reserved words.
 */
export interface Change {
  readonly change: string;
  readonly values: Row;
}

/** The values of a condition are named `:if…`, so that they do not collide with those of the change. */
export interface Condition {
  readonly expression: string;
  readonly values?: Row;
}

/** Sets these attributes and keeps the others. */
export function setting(attributes: Row): Change {
  const names = Object.keys(attributes);
  return {
    change: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
    values: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`:${name}`, value])),
  };
}

export const IS_NEW: Condition = { expression: 'attribute_not_exists(#pk)' };
export const IS_THERE: Condition = { expression: 'attribute_exists(#pk)' };

/** The row has a version, and it is this one. */
export function sameVersion(version: number): Condition {
  return { expression: '#version = :ifVersion', values: { ':ifVersion': num(version) } };
}

/**
 * Everything but the change itself, in the form the SDK takes. DynamoDB refuses empty maps, and names that no
 * expression uses.
 */
export function expressionsOf(when: Condition | undefined, change?: Change) {
  const names = `${change?.change} ${when?.expression}`.match(/#\w+/g) ?? [];
  const values = { ...change?.values, ...when?.values };
  return {
    ...(when === undefined ? {} : { ConditionExpression: when.expression }),
    ...(names.length === 0
      ? {}
      : { ExpressionAttributeNames: Object.fromEntries(names.map((name) => [name, name.slice(1)])) }),
    ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: values }),
  };
}
