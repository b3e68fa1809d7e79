import { z } from 'zod';
import { describeSelectors, TARGET } from './selector.ts';
import { COUNT_TEST, describeCountTest, describeTextTest, describeUrlTest, TEXT_TEST, URL_TEST } from './text-test.ts';

/** What the page shows now. A condition never waits: waiting is a step of its own. */

const optionalTarget = { ...TARGET, selectors: TARGET.selectors.optional() };

const SIMPLE = [
  z
    .strictObject({ type: z.literal('exists'), ...TARGET, visible: z.boolean().optional() })
    .describe('An element matches; with `visible`, it can be seen or not.'),
  z
    .strictObject({ type: z.literal('text'), ...optionalTarget, text: TEXT_TEST })
    .describe('The page, or the element, says this.'),
  z.strictObject({ type: z.literal('count'), ...TARGET, count: COUNT_TEST }).describe('So many elements match.'),
  z
    .strictObject({ type: z.literal('value'), ...TARGET, value: TEXT_TEST })
    .describe('The form control has this value.'),
  z.strictObject({ type: z.literal('url'), url: URL_TEST }).describe('The page has this address.'),
] as const;

type SimpleCondition = z.output<(typeof SIMPLE)[number]>;

export type Condition =
  | SimpleCondition
  | { readonly type: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly type: 'not'; readonly condition: Condition };

const several = z.lazy((): z.ZodType<readonly Condition[]> => z.array(CONDITION).min(1).max(20));

const ALL = z.discriminatedUnion('type', [
  ...SIMPLE,
  z.strictObject({ type: z.literal('and'), conditions: several }).describe('All of these hold.'),
  z.strictObject({ type: z.literal('or'), conditions: several }).describe('At least one of these holds.'),
  z
    .strictObject({ type: z.literal('not'), condition: z.lazy((): z.ZodType<Condition> => CONDITION) })
    .describe('This does not hold.'),
]);

export const CONDITION: z.ZodType<Condition> = ALL.meta({
  id: 'Condition',
  description: 'What the page shows now.',
}) as z.ZodType<Condition>;

/** The kinds, for the reference. */
export const CONDITION_SCHEMAS = ALL.options;

export function describeCondition(condition: Condition): string {
  switch (condition.type) {
    case 'exists':
      return `${describeSelectors(condition.selectors)} ${
        condition.visible === undefined ? 'exists' : condition.visible ? 'is visible' : 'is hidden'
      }`;
    case 'text':
      return `${condition.selectors === undefined ? 'the page' : describeSelectors(condition.selectors)} says ${describeTextTest(condition.text)}`;
    case 'count':
      return `there are ${describeCountTest(condition.count)} of ${describeSelectors(condition.selectors)}`;
    case 'value':
      return `${describeSelectors(condition.selectors)} has the value ${describeTextTest(condition.value)}`;
    case 'url':
      return `the address is ${describeUrlTest(condition.url)}`;
    case 'not':
      return `not (${describeCondition(condition.condition)})`;
    default:
      return condition.conditions.map(describeCondition).join(condition.type === 'and' ? ' and ' : ' or ');
  }
}
