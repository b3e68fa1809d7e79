import { AttributeType, Billing, ProjectionType, TableEncryptionV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership, StorageClass } from 'aws-cdk-lib/aws-s3';
import { Duration, RemovalPolicy } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { TABLE_SCHEMA } from '../../src/adapters/aws/table-schema.ts';
import type { Settings } from './settings.ts';

/** The ledger's table and the results' bucket. Both outlive the stack: what was scraped is not ours to delete. */
export class Storage extends Construct {
  readonly table: TableV2;
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string, { coolAfterDays, expireAfterDays }: Settings) {
    super(scope, id);
    const { keys, indexes, ttl } = TABLE_SCHEMA;
    this.table = new TableV2(this, 'Table', {
      partitionKey: { name: keys.pk, type: AttributeType.STRING },
      sortKey: { name: keys.sk, type: AttributeType.STRING },
      globalSecondaryIndexes: indexes.map((index) => ({
        indexName: index.name,
        partitionKey: { name: index.pk, type: AttributeType.STRING },
        sortKey: { name: index.sk, type: AttributeType.NUMBER },
        projectionType: ProjectionType[index.projection],
      })),
      timeToLiveAttribute: ttl,
      // Jobs come and go: between two of them nothing is written, and nothing is paid.
      billing: Billing.onDemand(),
      // A key of DynamoDB's own costs nothing; one of KMS is asked, and paid, for every few rows.
      encryption: TableEncryptionV2.dynamoOwnedKey(),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    this.bucket = new Bucket(this, 'Results', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      // Off: a key names its attempt and is written once, so that there is nothing to go back to; and a job that a user
      // deletes is to be gone, not kept, and paid for, as old versions.
      versioned: false,
      lifecycleRules: [
        // What a worker that was killed left of a large document is invisible, and paid for.
        { id: 'unfinished uploads', abortIncompleteMultipartUploadAfter: Duration.days(1) },
        ...(coolAfterDays === 0
          ? []
          : [
              {
                id: 'cool down',
                transitions: [
                  // Still read at once. S3 leaves objects below 128 KB where they are: they would be billed as that large.
                  {
                    storageClass: StorageClass.GLACIER_INSTANT_RETRIEVAL,
                    transitionAfter: Duration.days(coolAfterDays),
                  },
                ],
              },
            ]),
        ...(expireAfterDays === 0 ? [] : [{ id: 'expire', expiration: Duration.days(expireAfterDays) }]),
      ],
      removalPolicy: RemovalPolicy.RETAIN,
    });
  }
}
