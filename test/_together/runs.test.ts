import { importTests } from './import-tests.ts';

await importTests('runs/*.test.ts');
