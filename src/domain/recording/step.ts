import { z } from 'zod';
import { CONDITION, type Condition } from './condition.ts';
import { ASSERTION_STEPS, EXTRACTION_STEPS } from './data-steps.ts';
import { LIMITS } from './limits.ts';
import { INTERACTION_STEPS, NAVIGATION_STEPS, WAIT_STEPS } from './page-steps.ts';
import { TARGET, type Target } from './selector.ts';
import { COMMON, FIELD, NAME, PAGE_FAILURES, type PageFailure, TEXT } from './step-fields.ts';

/**
 * What a recording can do, as one union by `type`. A step is data: it holds texts, numbers and other steps, and the engines
 * decide what to do with them.
 */

interface Common {
  readonly name?: string | undefined;
  readonly timeoutMs?: number | undefined;
}

interface IfStep extends Common {
  readonly type: 'if';
  readonly condition: Condition;
  readonly then: readonly Step[];
  readonly else?: readonly Step[] | undefined;
}

export interface ForEachStep extends Common, Target {
  readonly type: 'forEach';
  readonly field?: string | undefined;
  readonly max: number;
  readonly steps: readonly Step[];
}

export interface RepeatStep extends Common {
  readonly type: 'repeat';
  readonly until: Condition;
  readonly max: number;
  readonly field?: string | undefined;
  readonly steps: readonly Step[];
}

export interface TryStep extends Common {
  readonly type: 'try';
  readonly steps: readonly Step[];
  readonly otherwise?: readonly Step[] | undefined;
}

interface CallStep extends Common {
  readonly type: 'call';
  readonly sequence: string;
}

export interface StopStep extends Common {
  readonly type: 'stop';
  readonly outcome: 'done' | PageFailure;
  readonly message?: string | undefined;
}

type ControlStep = IfStep | ForEachStep | RepeatStep | TryStep | CallStep | StopStep;

const nested = z.lazy((): z.ZodType<readonly Step[]> => z.array(STEP).max(LIMITS.steps));
const rounds = z.int().min(1).max(LIMITS.rounds);

const CONTROL_STEPS = [
  z
    .strictObject({ type: z.literal('if'), condition: CONDITION, then: nested, else: nested.optional(), ...COMMON })
    .describe('Carries out `then` if the condition holds now, otherwise `else`.'),
  z
    .strictObject({
      type: z.literal('forEach'),
      ...TARGET,
      field: FIELD.optional().describe('Each row makes a record, and the records are a list in this field.'),
      max: rounds.describe('Rows beyond this many are left out.'),
      steps: nested.describe('Their selectors look in the row where they say `"within": "@row"`.'),
      ...COMMON,
    })
    .describe('Carries out steps for each element that matches.'),
  z
    .strictObject({
      type: z.literal('repeat'),
      until: CONDITION.describe('Looked at after each round.'),
      max: rounds.describe('After so many rounds the step fails.'),
      field: FIELD.optional().describe('Each round makes a record, and the records are a list in this field.'),
      steps: nested,
      ...COMMON,
    })
    .describe('Repeats steps until a condition holds.'),
  z
    .strictObject({ type: z.literal('try'), steps: nested, otherwise: nested.optional(), ...COMMON })
    .describe('Carries out steps; if one fails because of the page, goes on with `otherwise`.'),
  z
    .strictObject({ type: z.literal('call'), sequence: NAME, ...COMMON })
    .describe("Carries out a sequence of the recording's `sequences`."),
  z
    .strictObject({
      type: z.literal('stop'),
      outcome: z.enum(['done', ...PAGE_FAILURES]).describe('`done`: the item is complete; otherwise its failure.'),
      message: TEXT.min(1).max(500).optional(),
      ...COMMON,
    })
    .describe('Ends the recording with an outcome.'),
] as const;

/** By family, for the reference. */
export const STEP_FAMILIES = {
  navigation: NAVIGATION_STEPS,
  interaction: INTERACTION_STEPS,
  wait: WAIT_STEPS,
  extraction: EXTRACTION_STEPS,
  'control flow': CONTROL_STEPS,
  assertion: ASSERTION_STEPS,
} as const;

const SIMPLE_STEPS = [
  ...NAVIGATION_STEPS,
  ...INTERACTION_STEPS,
  ...WAIT_STEPS,
  ...EXTRACTION_STEPS,
  ...ASSERTION_STEPS,
] as const;

/** A step without others inside of it. */
export type SimpleStep = z.output<(typeof SIMPLE_STEPS)[number]>;

export type Step = SimpleStep | ControlStep;
export type StepType = Step['type'];
export type StepOf<Type extends StepType> = Extract<Step, { type: Type }>;

export const STEP: z.ZodType<Step> = z
  .discriminatedUnion('type', [...SIMPLE_STEPS, ...CONTROL_STEPS])
  .meta({ id: 'Step', description: 'One action of the recording.' }) as z.ZodType<Step>;

export const STEP_TYPES: readonly StepType[] = [...SIMPLE_STEPS, ...CONTROL_STEPS].map(({ shape }) => shape.type.value);

/** Where steps hold other steps. */
export const NESTED_FIELDS = ['then', 'else', 'steps', 'otherwise'] as const;

/** The lists of steps inside of a step, each with the name of its field. */
export function nestedSteps(step: Step): readonly (readonly [field: string, steps: readonly Step[]])[] {
  switch (step.type) {
    case 'if':
      return step.else === undefined
        ? [['then', step.then]]
        : [
            ['then', step.then],
            ['else', step.else],
          ];
    case 'forEach':
    case 'repeat':
      return [['steps', step.steps]];
    case 'try':
      return step.otherwise === undefined
        ? [['steps', step.steps]]
        : [
            ['steps', step.steps],
            ['otherwise', step.otherwise],
          ];
    default:
      return [];
  }
}
