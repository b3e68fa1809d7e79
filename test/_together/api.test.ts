import { importTests } from './import-tests.ts';

await importTests('api/{e[ad]*,embedded-[chrst]*,existing*,openapi*,walk*}.test.ts');
