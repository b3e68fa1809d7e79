import { importTests } from './import-tests.ts';

// Tests of queues set the timers of their process, so each of those files has one of its own.
await importTests('adapters/aws/!(queue*).test.ts');
