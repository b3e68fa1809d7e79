import { whileLoading } from '../support/while-loading.ts';
import { startService } from './service.ts';
import { accessCases } from './suite/access-cases.ts';
import { controlCases } from './suite/control-cases.ts';
import { createCases } from './suite/create-cases.ts';
import { jobCases } from './suite/job-cases.ts';
import { largeCases } from './suite/large-cases.ts';
import { openClient, openStillClient } from './suite/made-jobs.ts';
import { planCases } from './suite/plan-cases.ts';
import { removalCases } from './suite/removal-cases.ts';
import { serviceCases } from './suite/service-cases.ts';
import { stateCases } from './suite/state-cases.ts';
import { stopCases } from './suite/stop-cases.ts';
import { waitCases } from './suite/wait-cases.ts';

const client = await openClient(startService);
const still = await openStillClient(startService);
await whileLoading(async () => {
  // First, while nothing is in the queues.
  serviceCases(client, still);
  createCases(client);
  controlCases(client);
  jobCases(client);
  planCases(client);
  removalCases(client);
  stateCases(client, still);
  waitCases(client);
  await largeCases(startService);
  await accessCases(client, startService);
  stopCases(startService);
});
