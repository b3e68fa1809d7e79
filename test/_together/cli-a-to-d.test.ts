import { importTests } from './import-tests.ts';

await importTests('cli/[a-d]*.test.ts');
