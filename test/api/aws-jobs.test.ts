import { startAwsService } from '../support/aws/service.ts';
import { sized } from '../support/sized.ts';
import { whileLoading } from '../support/while-loading.ts';
import { accessCases } from './suite/access-cases.ts';
import { controlCases } from './suite/control-cases.ts';
import { createCases } from './suite/create-cases.ts';
import { eventCases } from './suite/event-cases.ts';
import { extractionCases } from './suite/extraction-cases.ts';
import { itemCases } from './suite/item-cases.ts';
import { jobCases } from './suite/job-cases.ts';
import { largeCases } from './suite/large-cases.ts';
import { linkCases } from './suite/link-cases.ts';
import { openClient, openStillClient } from './suite/made-jobs.ts';
import { planCases } from './suite/plan-cases.ts';
import { removalCases } from './suite/removal-cases.ts';
import { resultCases } from './suite/result-cases.ts';
import { serviceCases } from './suite/service-cases.ts';
import { stateCases } from './suite/state-cases.ts';
import { stopCases } from './suite/stop-cases.ts';

const client = await openClient(startAwsService);
const still = await openStillClient(startAwsService);
await whileLoading(async () => {
  // This comes first, while the queues are empty.
  serviceCases(client, still);
  createCases(client);
  controlCases(client);
  jobCases(client);
  planCases(client);
  removalCases(client);
  stateCases(client, still);
  itemCases(client);
  resultCases(client);
  linkCases(client, { hasLinks: true });
  eventCases(client);
  extractionCases(client);
  await largeCases(startAwsService);
  // Keys are checked before the backend is asked for anything, and connections are ended above it, too: the embedded
  // services have these cases in every run.
  if (sized({ quick: false, slow: true })) {
    await accessCases(client, startAwsService);
    stopCases(startAwsService);
  }
});
