import { whileLoading } from '../support/while-loading.ts';
import { startService } from './service.ts';
import { carriedRunCases } from './suite/carried-run-cases.ts';
import { runCases } from './suite/run-cases.ts';

await whileLoading(async () => {
  await carriedRunCases(startService);
  await runCases(startService);
});
