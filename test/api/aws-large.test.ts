import { startAwsService } from '../support/aws/service.ts';
import { largeCases } from './suite/large-cases.ts';

await largeCases(startAwsService);
