import { startAwsService } from '../support/aws/service.ts';
import { whileLoading } from '../support/while-loading.ts';
import { siteCases } from './suite/site-cases.ts';
import { sitePageCases } from './suite/site-page-cases.ts';

await whileLoading(async () => {
  await siteCases(startAwsService);
  await sitePageCases(startAwsService, { knowsLanes: false });
});
