import { importTests } from './import-tests.ts';

await importTests('flow/[e-p]*.test.ts');
