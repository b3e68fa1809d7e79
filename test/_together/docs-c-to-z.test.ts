import { importTests } from './import-tests.ts';

await importTests('docs/[c-z]*.test.ts');
