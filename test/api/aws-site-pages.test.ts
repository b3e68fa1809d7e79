import { startAwsService } from '../support/aws/service.ts';
import { sitePageCases } from './suite/site-page-cases.ts';

await sitePageCases(startAwsService, { knowsLanes: false });
