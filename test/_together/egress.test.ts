import { importTests } from './import-tests.ts';

await importTests('egress/**/*.test.ts');
