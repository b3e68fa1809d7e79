import { importTests } from './import-tests.ts';

await importTests('adapters/*.test.ts');
