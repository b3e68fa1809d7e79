import { importTests } from './import-tests.ts';

// In a process of its own, as what it measures is time; here, because it takes longest and must not come last.
await importTests('flow/sh*.test.ts');
