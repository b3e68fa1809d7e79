import { importTests } from './import-tests.ts';

await importTests('worker/**/*.test.ts');
