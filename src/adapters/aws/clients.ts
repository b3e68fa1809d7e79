import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { Lane } from '../../domain/lane.ts';

/** What the AWS adapters are told. Credentials, region and endpoints are the SDK's own business, unless named here. */
export interface AwsSettings {
  readonly tableName: string;
  readonly bucket: string;
  /** A queue per lane. Its dead-letter queue is the one that its redrive policy names. */
  readonly queueUrls: Readonly<Record<Lane, string>>;
  /** Instead of what the SDK finds in its environment. For tests; in production there are none. */
  readonly overrides?: ClientOverrides;
}

export interface ClientOverrides {
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly endpoints?: { readonly dynamo?: string; readonly sqs?: string; readonly s3?: string };
}

export interface AwsClients {
  readonly dynamo: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly s3: S3Client;
  close(): void;
}

/** A try that has not been answered for this long is given up, and made again. */
const REQUEST_MS = 10_000;
/** A long poll is answered after twenty seconds if nothing came. */
const POLL_MS = 30_000;
/** Four parts of 8 MiB at once go out in this time over a line of 5 Mbit/s. */
const TRANSFER_MS = 60_000;
/** Of one call, with the SDK's growing pauses in between: a minute or so until somebody else has to decide. */
const ATTEMPTS = 8;
const SOCKETS = 128;

export function openAwsClients({ region, credentials, endpoints = {} }: ClientOverrides = {}): AwsClients {
  const shared = {
    maxAttempts: ATTEMPTS,
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
  };
  const dynamo = new DynamoDBClient({
    ...shared,
    ...endpoint(endpoints.dynamo),
    requestHandler: handler(REQUEST_MS),
  });
  const sqs = new SQSClient({
    ...shared,
    ...endpoint(endpoints.sqs),
    requestHandler: handler(POLL_MS),
    // The address of a queue is its name. Where SQS is, the SDK is told like all else: by region or endpoint.
    useQueueUrlAsEndpoint: false,
  });
  const s3 = new S3Client({
    ...shared,
    ...endpoint(endpoints.s3),
    requestHandler: handler(TRANSFER_MS),
    // Any S3-compatible server has paths; not every one has a name for each bucket.
    forcePathStyle: true,
    // Not every one answers it, and then every large body would wait for that as long as a request may take.
    expectContinueHeader: false,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return {
    dynamo,
    sqs,
    s3,
    close() {
      for (const client of [dynamo, sqs, s3]) client.destroy();
    },
  };
}

function endpoint(url: string | undefined): { readonly endpoint?: string } {
  return url === undefined ? {} : { endpoint: url };
}

function handler(requestMs: number): NodeHttpHandler {
  return new NodeHttpHandler({
    connectionTimeout: 3000,
    requestTimeout: requestMs,
    throwOnRequestTimeout: true,
    httpAgent: { keepAlive: true, maxSockets: SOCKETS },
    httpsAgent: { keepAlive: true, maxSockets: SOCKETS },
  });
}
