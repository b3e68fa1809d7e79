import { importTests } from './import-tests.ts';

await importTests('contract/[!a]*.test.ts');
