import { startAwsService } from '../support/aws/service.ts';
import { sized } from '../support/sized.ts';
import { accessCases } from './suite/access-cases.ts';
import { openClient } from './suite/made-jobs.ts';
import { serviceCases } from './suite/service-cases.ts';
import { stopCases } from './suite/stop-cases.ts';

const client = await openClient(startAwsService);
await serviceCases(client, startAwsService);
// Keys are checked before the backend is asked for anything: embedded-service.test.ts has these in every run.
if (sized({ quick: false, slow: true })) await accessCases(client, startAwsService);
stopCases(startAwsService);
