import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { Lane } from '../../domain/lane.ts';

/** Settings of the AWS adapters. The SDK finds credentials, region and endpoints itself, unless they are given here. */
export interface AwsSettings {
  readonly tableName: string;
  readonly bucket: string;
  /** A queue per lane. Its dead-letter queue is the one that its redrive policy names. */
  readonly queueUrls: Readonly<Record<Lane, string>>;
  /** Overrides what the SDK finds in its environment. Only for tests. */
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

/** A try without an answer for this long is given up and repeated. */
const REQUEST_MS = 10_000;
/** A long poll is answered after twenty seconds if nothing arrived. */
const POLL_MS = 30_000;
/** Four concurrent parts of 8 MiB take this long over a connection of 5 Mbit/s. */
const TRANSFER_MS = 60_000;
/** Attempts of one call, with the SDK's growing pauses in between: it gives up after a minute or so. */
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
    // The URL of a queue is only its name. Like any other service, SQS is found by region or endpoint.
    useQueueUrlAsEndpoint: false,
  });
  const s3 = new S3Client({
    ...shared,
    ...endpoint(endpoints.s3),
    requestHandler: handler(TRANSFER_MS),
    // Any S3-compatible server has paths; not every one has a name for each bucket.
    forcePathStyle: true,
    // Not every server answers it, and then every large body would wait as long as a request may take.
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
