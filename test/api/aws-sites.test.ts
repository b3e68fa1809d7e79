import { startAwsService } from '../support/aws/service.ts';
import { siteCases } from './suite/site-cases.ts';

await siteCases(startAwsService);
