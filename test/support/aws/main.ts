import { startEmulators } from './emulators.ts';
import { awsEnvironment, awsNames } from './names.ts';

/** Emulators to try Trawl on (docs/aws.md): prints what to set, in shell syntax, and runs until it is stopped. */
const emulators = await startEmulators();
const { tableName, bucket, queueUrls } = awsNames(emulators, 'trawl');
const environment = {
  ...awsEnvironment(emulators),
  TRAWL_BACKEND: 'aws',
  TABLE_NAME: tableName,
  WEB_SCRAPER_QUEUE_URL: queueUrls.http,
  WEB_SCRAPER_RESULTS_BUCKET: bucket,
};
console.log(
  Object.entries(environment)
    .map(([name, value]) => `export ${name}=${value}`)
    .join('\n'),
);

const stop = async () => {
  await emulators.stop();
  process.exit();
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());
