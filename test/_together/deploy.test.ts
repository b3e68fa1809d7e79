import { importTests } from './import-tests.ts';

await importTests('deploy/**/*.test.ts');
