import type { Emulators } from './emulators.ts';

/** Where a service of this name has its table, queues and bucket on the emulators. */
export function awsNames({ overrides }: Pick<Emulators, 'overrides'>, name: string) {
  const http = `${overrides.endpoints.sqs}/000000000000/${name}`;
  return { tableName: name, bucket: name, queueUrls: { http, browser: `${http}-browser` } };
}

/** What the SDK reads, in this process and in those that it starts. */
export function awsEnvironment({ overrides }: Pick<Emulators, 'overrides'>): Readonly<Record<string, string>> {
  const { region = '', credentials, endpoints } = overrides;
  return {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials?.accessKeyId ?? '',
    AWS_SECRET_ACCESS_KEY: credentials?.secretAccessKey ?? '',
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamo,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    AWS_ENDPOINT_URL_S3: endpoints.s3,
  };
}
