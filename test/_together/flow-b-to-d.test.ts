import { importTests } from './import-tests.ts';

await importTests('flow/[b-d]*.test.ts');
