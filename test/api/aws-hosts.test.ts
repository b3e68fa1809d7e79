import { startAwsService } from '../support/aws/service.ts';
import { hostCases } from './suite/host-cases.ts';

await hostCases(startAwsService);
