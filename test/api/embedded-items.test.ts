import { startService } from './service.ts';
import { eventCases } from './suite/event-cases.ts';
import { extractionCases } from './suite/extraction-cases.ts';
import { itemCases } from './suite/item-cases.ts';
import { linkCases } from './suite/link-cases.ts';
import { openClient } from './suite/made-jobs.ts';
import { resultCases } from './suite/result-cases.ts';

const client = await openClient(startService);
itemCases(client);
resultCases(client);
linkCases(client, { hasLinks: false });
eventCases(client);
extractionCases(client);
