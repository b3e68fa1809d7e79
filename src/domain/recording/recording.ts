import { z } from 'zod';
import { CONDITION } from './condition.ts';
import { LIMITS } from './limits.ts';
import { STEP } from './step.ts';
import { FAILURE, NAME } from './step-fields.ts';

/** A scraper as data: a list of steps that is carried out for every item, with the item's values at its placeholders. */

const steps = z.array(STEP).min(1).max(LIMITS.steps);

/** Walked by `input-schema.ts`, which says what is accepted. */
const JSON_SCHEMA = z.record(z.string(), z.unknown());

export const RECORDING = z
  .strictObject({
    $schema: z.string().max(500).optional().describe('For editors.'),
    id: z
      .string()
      .max(100)
      .regex(
        /^[a-z0-9]+(?:-[a-z0-9]+)*$/,
        'must be lower-case letters and digits, with single dashes between: maricopa-az',
      )
      .describe('Lower-case letters, digits and dashes: `maricopa-az`. Jobs name it as their scraper.'),
    name: z.string().min(1).max(200).optional().describe('For people; otherwise the id.'),
    version: z.string().min(1).max(100).default('1.0.0').describe('Change it when the data change.'),
    description: z.string().max(2_000).default(''),
    hosts: z
      .array(
        z.string().regex(/^(?:\*\.)?[a-z0-9.-]+(?::\d+)?$/i, 'must be a host: treasurer.example.gov or *.example.gov'),
      )
      .min(1)
      .max(50)
      .describe('Where it may go: `treasurer.example.gov`, `*.example.gov`. It is stopped on the way to any other.'),
    engine: z
      .enum(['auto', 'browser', 'http'])
      .default('auto')
      .describe(
        '`browser`; `http`, without one; `auto` begins in a browser and leaves it where that gives the same data.',
      ),
    input: JSON_SCHEMA.optional().describe('JSON Schema of the input; otherwise made from the placeholders.'),
    output: JSON_SCHEMA.optional().describe('JSON Schema of the data.'),
    viewport: z
      .strictObject({ width: z.int().min(200).max(4_000), height: z.int().min(200).max(4_000) })
      .optional()
      .describe('Size of the window.'),
    timeouts: z
      .strictObject({
        stepMs: z.int().min(100).max(LIMITS.timeoutMs).default(10_000),
        navigationMs: z.int().min(100).max(LIMITS.timeoutMs).default(30_000),
      })
      .prefault({})
      .describe('How long a step, and the page that it leads to, may take.'),
    recovery: z
      .strictObject({
        retryStep: z.int().min(0).max(5).default(1).describe('Times that a failed step is repeated.'),
        reload: z
          .int()
          .min(0)
          .max(3)
          .default(0)
          .describe('Then: times that the page is reloaded and the step repeated.'),
        startOver: z
          .int()
          .min(0)
          .max(3)
          .default(0)
          .describe('Then: times that the recording begins again as a new visitor.'),
      })
      .prefault({})
      .describe('What is done when a step fails for want of an element, or a page does not come.'),
    steps,
    sequences: z
      .record(NAME, steps)
      .refine((sequences) => Object.keys(sequences).length <= LIMITS.sequences, `at most ${LIMITS.sequences} sequences`)
      .default({})
      .describe('Steps that `call` carries out by their name.'),
    expect: z
      .array(
        z.strictObject({
          condition: CONDITION,
          failure: FAILURE.default('navigation_failed'),
          message: z.string().min(1).max(500).optional(),
        }),
      )
      .max(20)
      .default([])
      .describe('What must hold at the end; otherwise the item fails.'),
  })
  .meta({ id: 'Recording', title: 'Trawl recording' });

/** As it is written. */
export type WrittenRecording = z.input<typeof RECORDING>;

/** As it is used: with its defaults, and with an input schema. Only `parseRecording` makes one. */
export interface Recording extends Omit<z.output<typeof RECORDING>, 'name' | 'input' | 'output' | '$schema'> {
  readonly name: string;
  /** JSON Schema: the one that is written, or that of the placeholders. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Null if the recording does not say. */
  readonly output: Readonly<Record<string, unknown>> | null;
}

export type Engine = Recording['engine'];
