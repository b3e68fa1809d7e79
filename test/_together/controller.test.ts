import { importTests } from './import-tests.ts';

await importTests('controller/**/*.test.ts');
