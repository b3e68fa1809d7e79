import { importTests } from './import-tests.ts';

await importTests('docs/[ab]*.test.ts');
