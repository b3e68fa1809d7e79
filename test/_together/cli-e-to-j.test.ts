import { importTests } from './import-tests.ts';

await importTests('cli/[e-j]*.test.ts');
