import { startAwsService } from '../support/aws/service.ts';
import { whileLoading } from '../support/while-loading.ts';
import { carriedRunCases } from './suite/carried-run-cases.ts';
import { runCases } from './suite/run-cases.ts';

await whileLoading(async () => {
  await carriedRunCases(startAwsService);
  await runCases(startAwsService);
});
