import { startAwsService } from '../support/aws/service.ts';
import { accessCases } from './suite/access-cases.ts';
import { openClient } from './suite/made-jobs.ts';
import { serviceCases } from './suite/service-cases.ts';
import { stopCases } from './suite/stop-cases.ts';

const client = await openClient(startAwsService);
await serviceCases(client, startAwsService);
await accessCases(client, startAwsService);
stopCases(startAwsService);
