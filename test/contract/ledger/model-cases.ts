import fc from 'fast-check';
import type { Ledger } from '../../../src/ports/ledger.ts';
import { newItems, newJob } from '../../support/builders.ts';
import type { AddCase, Opened } from '../suite.ts';
import { anyCommand, POLICIES } from './any-command.ts';
import { groupAt } from './commands.ts';
import type { LedgerParts } from './hands.ts';
import { Model } from './model.ts';
import { checkModel } from './model-check.ts';

export interface Sequences {
  readonly runs: number;
  /** Maximum number of commands in each sequence. */
  readonly commands: number;
  /** Random unless given. */
  readonly seed?: number;
}

type Open = () => Promise<Opened<LedgerParts>>;

/** Randomly generated sequences of commands, compared step by step with a model. */
export function modelCases(add: AddCase<LedgerParts>, open: Open, sequences: Sequences): void {
  add('whatever was done to it, the ledger reports what one would count by hand', () =>
    checkSequences(open, sequences),
  );
}

export async function checkSequences(open: Open, { runs, commands: maxCommands, ...seed }: Sequences): Promise<void> {
  const commands = fc.commands(anyCommand, { maxCommands, size: 'max' });
  await fc.assert(
    fc.asyncProperty(commands, async (sequence) => {
      const { ledger, close } = await open();
      try {
        await fc.asyncModelRun(async () => ({ model: await begin(ledger), real: ledger }), sequence);
      } finally {
        await close();
      }
    }),
    { numRuns: runs, ...seed },
  );
}

async function begin(ledger: Ledger): Promise<Model> {
  const model = new Model();
  for (const { policy, count, ...job } of [
    { jobId: 'job-a', count: 4, policy: POLICIES[0] },
    { jobId: 'job-b', count: 6, policy: POLICIES[1], batching: { by: 'group', maxItems: 3 } as const },
  ]) {
    const items = newItems(count, { prefix: job.jobId }).map((item, place) => ({ ...item, ...groupAt(place) }));
    const made = { ...newJob(job), policy };
    await ledger.createJob(made, items, model.now);
    model.addJob(job.jobId, items, policy, made.batching);
  }
  await checkModel(model, ledger, []);
  return model;
}
