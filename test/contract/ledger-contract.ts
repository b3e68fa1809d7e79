import type { Ledger } from '../../src/ports/ledger.ts';
import { artifactCases } from './ledger/artifact-cases.ts';
import { batchingCases } from './ledger/batching-cases.ts';
import { cancelCases } from './ledger/cancel-cases.ts';
import { changeCases } from './ledger/change-cases.ts';
import { clampCases } from './ledger/clamp-cases.ts';
import { controlCases } from './ledger/control-cases.ts';
import { correctionCases } from './ledger/correction-cases.ts';
import { discoveryCases } from './ledger/discovery-cases.ts';
import { dispatchCases } from './ledger/dispatch-cases.ts';
import { draftCases } from './ledger/draft-cases.ts';
import { extractionCases } from './ledger/extraction-cases.ts';
import { failureGroupCases } from './ledger/failure-group-cases.ts';
import { itemCases } from './ledger/item-cases.ts';
import { jobCases } from './ledger/job-cases.ts';
import { leaseCases } from './ledger/lease-cases.ts';
import { modelCases, type Sequences } from './ledger/model-cases.ts';
import { poisonCases } from './ledger/poison-cases.ts';
import { recoverCases } from './ledger/recover-cases.ts';
import { removalCases } from './ledger/removal-cases.ts';
import { retryCases } from './ledger/retry-cases.ts';
import { settleCases } from './ledger/settle-cases.ts';
import { budgetCases, usageCases } from './ledger/usage-cases.ts';
import { waitCases } from './ledger/wait-cases.ts';
import { type Opened, type SuiteOptions, suite } from './suite.ts';

/**
 * Everything that the comments of `ports/ledger.ts` promise. `open` makes a ledger without jobs; `runs` is how many
 * generated sequences, none where a file of their own has them, and `commands` how long.
 */
export function ledgerContract(
  name: string,
  open: () => Promise<Opened<{ readonly ledger: Ledger }>>,
  { runs = 100, commands = 120, ...options }: SuiteOptions & Partial<Pick<Sequences, 'runs' | 'commands'>> = {},
): void {
  suite(`ledger on ${name}`, open, options, (add) => {
    jobCases(add);
    itemCases(add);
    correctionCases(add);
    draftCases(add);
    dispatchCases(add);
    batchingCases(add);
    leaseCases(add);
    clampCases(add);
    settleCases(add);
    usageCases(add);
    budgetCases(add);
    discoveryCases(add);
    artifactCases(add);
    poisonCases(add);
    cancelCases(add);
    retryCases(add);
    failureGroupCases(add);
    changeCases(add);
    extractionCases(add);
    recoverCases(add);
    removalCases(add);
    waitCases(add);
    controlCases(add);
    if (runs > 0) modelCases(add, open, { runs, commands });
  });
}
