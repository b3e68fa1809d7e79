import { importTests } from './import-tests.ts';

await importTests('cli/[s-z]*.test.ts');
