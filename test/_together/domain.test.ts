import { importTests } from './import-tests.ts';

await importTests('domain/**/*.test.ts');
