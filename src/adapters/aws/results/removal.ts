import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  type MultipartUpload,
  type _Error as RefusedKey,
} from '@aws-sdk/client-s3';
import { backoffMs } from '../../../domain/backoff.ts';
import type { RemovalWatch } from '../../../ports/result-store.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import { type BucketCalls, SHARED_CALL_MS } from './calls.ts';
import { instead, refusalOfCode, resultError } from './errors.ts';

/** As many as one call deletes. */
const PAGE_KEYS = 1000;
/** For keys that S3 could not delete just now. */
const MAX_ROUNDS = 6;
const PAUSE_MS = 100;
/** What is written during the removal is found by the next pass. */
const MAX_PASSES = 10;

/**
 * Removes all keys under a prefix, a page at a time, until a list of them is empty; returns how many there were. Null if
 * it was stopped: nothing was sent after that, but what was on its way then may still arrive.
 */
export async function removeKeys(calls: BucketCalls, prefix: string, watch: RemovalWatch): Promise<number | null> {
  let removed = 0;
  for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
    let found = 0;
    for await (const keys of pagesOf(calls, prefix)) {
      if (!(await deleteKeys(calls, prefix, keys, watch))) return null;
      found += keys.length;
    }
    if (found === 0) return removed;
    removed += found;
  }
  throw new StorageTrouble(
    'io',
    `cannot remove ${prefix}: others keep writing there, or what was deleted is still listed`,
  );
}

/** Parts of abandoned uploads. They are not listed as keys, but they are billed. False if it was stopped. */
export async function abortUploads(calls: BucketCalls, prefix: string, watch: RemovalWatch): Promise<boolean> {
  const { s3, bucket } = calls;
  let after: { readonly KeyMarker?: string; readonly UploadIdMarker?: string } | null = {};
  while (after !== null) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
      Bucket: bucket,
      Prefix: prefix,
      ...after,
    });
    const about = { what: `cannot list the uploads to ${prefix}`, action: 's3:ListBucketMultipartUploads' } as const;
    // If that is unsupported or not allowed, the lifecycle rule of the bucket removes them some days later.
    const page: ListMultipartUploadsCommandOutput | null = await calls.call(about, (options) =>
      s3.send(command, options).catch(instead({ 'not-known': null, 'not-allowed': null })),
    );
    if (page === null) return true;
    for (const upload of page.Uploads ?? []) {
      if (!watch.mayGoOn()) return false;
      await abortUpload(calls, upload);
    }
    const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
    after = page.IsTruncated && KeyMarker && UploadIdMarker ? { KeyMarker, UploadIdMarker } : null;
  }
  return true;
}

async function abortUpload(calls: BucketCalls, { Key, UploadId }: MultipartUpload): Promise<void> {
  const command = new AbortMultipartUploadCommand({ Bucket: calls.bucket, Key, UploadId });
  const about = { what: `cannot end the upload of ${Key}`, action: 's3:AbortMultipartUpload' } as const;
  const gone = instead({ 'no-upload': null, missing: null });
  await calls.call(about, (options) => calls.s3.send(command, options).catch(gone));
}

async function* pagesOf(calls: BucketCalls, prefix: string): AsyncGenerator<readonly string[]> {
  const { s3, bucket } = calls;
  let after: { readonly ContinuationToken?: string } | null = {};
  while (after !== null) {
    const command: ListObjectsV2Command = new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: prefix,
      MaxKeys: PAGE_KEYS,
      ...after,
    });
    const about = { what: `cannot list ${prefix}`, action: 's3:ListBucket' } as const;
    const page: ListObjectsV2CommandOutput = await calls.call(about, (options) => s3.send(command, options));
    const keys = (page.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [Key]));
    if (keys.length > 0) yield keys;
    after = page.IsTruncated && page.NextContinuationToken ? { ContinuationToken: page.NextContinuationToken } : null;
  }
}

/** Entry by entry: what could not be deleted is tried again, and then it is an error. False if it was stopped. */
async function deleteKeys(
  calls: BucketCalls,
  prefix: string,
  keys: readonly string[],
  watch: RemovalWatch,
): Promise<boolean> {
  const about = { what: `cannot remove ${prefix}`, action: 's3:DeleteObject' } as const;
  let left = keys;
  for (let round = 1; ; round += 1) {
    if (!watch.mayGoOn()) return false;
    const command = new DeleteObjectsCommand({
      Bucket: calls.bucket,
      Delete: { Objects: left.map((Key) => ({ Key })), Quiet: true },
    });
    const { Errors: refused = [] } = await calls.call(about, (options) => calls.s3.send(command, options), {
      endMs: SHARED_CALL_MS,
    });
    const remaining = refused.filter(({ Code }) => refusalOfCode(Code) !== 'missing');
    const worst = remaining.find(isLasting) ?? remaining[0];
    if (worst === undefined) return true;
    if (isLasting(worst) || round === MAX_ROUNDS) {
      throw resultError(asError(worst), { ...about, bucket: calls.bucket });
    }
    left = remaining.flatMap(({ Key }) => (Key === undefined ? [] : [Key]));
    await calls.clock.sleep(backoffMs(round, PAUSE_MS) * (1 + calls.clock.chance()));
  }
}

function isLasting({ Code }: RefusedKey): boolean {
  const refusal = refusalOfCode(Code);
  return refusal !== 'passing' && refusal !== 'conflict';
}

function asError({ Code = 'Unknown', Key, Message }: RefusedKey): Error {
  const error = new Error(`${Key}: ${Message}`);
  error.name = Code;
  return error;
}
