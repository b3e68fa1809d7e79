import { startService } from './service.ts';
import { largeCases } from './suite/large-cases.ts';

await largeCases(startService);
