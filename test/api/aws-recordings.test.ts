import { startAwsService } from '../support/aws/service.ts';
import { Client } from './suite/client.ts';
import { recordedJobCases } from './suite/recording-cases.ts';

await recordedJobCases(await Client.of(await startAwsService({ workers: 1, allowAddresses: 'loopback' })));
