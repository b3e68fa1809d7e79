import { importTests } from './import-tests.ts';

await importTests('cli/r*.test.ts');
