import { importTests } from './import-tests.ts';

await importTests('flow/{rest,same,st,u}*.test.ts');
