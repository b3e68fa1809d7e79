import { startService } from './service.ts';
import { controlCases } from './suite/control-cases.ts';
import { createCases } from './suite/create-cases.ts';
import { jobCases } from './suite/job-cases.ts';
import { openClient } from './suite/made-jobs.ts';
import { planCases } from './suite/plan-cases.ts';
import { removalCases } from './suite/removal-cases.ts';
import { stateCases } from './suite/state-cases.ts';
import { waitCases } from './suite/wait-cases.ts';

const client = await openClient(startService);
createCases(client);
controlCases(client);
jobCases(client);
planCases(client);
removalCases(client);
await stateCases(client, startService);
waitCases(client);
