import { startService } from './service.ts';
import { hostCases } from './suite/host-cases.ts';

await hostCases(startService);
