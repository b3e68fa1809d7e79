import { startAwsService } from '../support/aws/service.ts';
import { extractionCases } from './suite/extraction-cases.ts';
import { openClient } from './suite/made-jobs.ts';

extractionCases(await openClient(startAwsService));
