import { importTests } from './import-tests.ts';

await importTests('demo/**/*.test.ts');
