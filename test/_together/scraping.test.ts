import { importTests } from './import-tests.ts';

await importTests('scraping/**/*.test.ts');
