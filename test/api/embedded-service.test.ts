import { startService } from './service.ts';
import { accessCases } from './suite/access-cases.ts';
import { openClient } from './suite/made-jobs.ts';
import { serviceCases } from './suite/service-cases.ts';
import { stopCases } from './suite/stop-cases.ts';

const client = await openClient(startService);
await serviceCases(client, startService);
await accessCases(client, startService);
stopCases(startService);
