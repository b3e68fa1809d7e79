import { importTests } from './import-tests.ts';

await importTests('cli/[k-p]*.test.ts');
