import {
  CreateBucketCommand,
  GetBucketLifecycleConfigurationCommand,
  HeadBucketCommand,
  PutBucketLifecycleConfigurationCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { Clock } from '../../../ports/clock.ts';
import { openS3ResultStore } from '../result-store.ts';
import { CREATE, type Finding, nameOf, refusal } from './finding.ts';

interface BucketDeps {
  readonly s3: S3Client;
  readonly bucket: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const NAME = 'Bucket';

/** A large document is uploaded within hours, or its worker is gone. */
const ABORT_AFTER_DAYS = 2;

export async function inspectBucket(deps: BucketDeps): Promise<readonly Finding[]> {
  const { bucket, s3, clock } = deps;
  try {
    if (!(await isThere(deps))) {
      const advice = `${CREATE} creates it, or set WEB_SCRAPER_RESULTS_BUCKET to another`;
      return [{ name: NAME, result: 'problem', message: `there is no bucket ${bucket}`, advice }];
    }
    const holdsConditions = await openS3ResultStore({ s3, bucket, clock }).holdsConditions();
    const warnings = [
      ...(holdsConditions ? [] : [careless(deps)]),
      ...((await abortsUploads(deps)) === false ? [keepsUploads(deps)] : []),
    ];
    if (warnings.length > 0) return warnings;
    return [{ name: NAME, result: 'ok', message: `${bucket} exists and can be written` }];
  } catch (error) {
    return [nameOf(error) === '403' ? notOurs(deps) : refusal(NAME, error)];
  }
}

function careless({ bucket }: BucketDeps): Finding {
  const message = `${bucket} is on a server that ignores If-None-Match: a second writer could overwrite an artifact silently`;
  return { name: NAME, result: 'warning', message, advice: 'use an S3 server that supports conditional writes' };
}

function keepsUploads({ bucket }: BucketDeps): Finding {
  const message = `${bucket} can be written, but keeps unfinished uploads forever`;
  return { name: NAME, result: 'warning', message, advice: `${CREATE} adds a rule that removes them` };
}

function notOurs({ bucket }: BucketDeps): Finding {
  const message = `${bucket} belongs to another account, or these credentials may not use it`;
  return {
    name: NAME,
    result: 'problem',
    message,
    advice: 'set WEB_SCRAPER_RESULTS_BUCKET to another bucket, or get permission for this one',
  };
}

/** Creates what is missing; returns what was created. */
export async function provisionBucket(deps: BucketDeps): Promise<readonly string[]> {
  const { s3, bucket, signal } = deps;
  const made: string[] = [];
  if (!(await isThere(deps))) {
    const region = await s3.config.region();
    // The oldest region is the only one that must not be named.
    const place =
      region === 'us-east-1' ? {} : { CreateBucketConfiguration: { LocationConstraint: region as 'eu-west-1' } };
    await s3.send(new CreateBucketCommand({ Bucket: bucket, ...place }), { abortSignal: signal }).catch(unlessOurs);
    made.push(`the bucket ${bucket}`);
  }
  if ((await abortsUploads(deps)) === false) {
    const rule = {
      ID: 'abort-unfinished-uploads',
      Status: 'Enabled',
      Filter: { Prefix: '' },
      AbortIncompleteMultipartUpload: { DaysAfterInitiation: ABORT_AFTER_DAYS },
    } as const;
    await s3.send(
      new PutBucketLifecycleConfigurationCommand({
        Bucket: bucket,
        LifecycleConfiguration: { Rules: [...(await lifecycleOf(deps)), rule] },
      }),
      { abortSignal: signal },
    );
    made.push(`the rule of ${bucket} that removes unfinished uploads`);
  }
  return made;
}

async function isThere({ s3, bucket, signal }: BucketDeps): Promise<boolean> {
  try {
    await s3.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal: signal });
    return true;
  } catch (error) {
    if (/NotFound|NoSuchBucket|^404$/.test(nameOf(error))) return false;
    throw error;
  }
}

/** Null if unknown: not every S3 server has such rules, and reading them may not be permitted. */
async function abortsUploads(deps: BucketDeps): Promise<boolean | null> {
  try {
    const rules = await lifecycleOf(deps);
    return rules.some(
      ({ Status, AbortIncompleteMultipartUpload: abort }) => Status === 'Enabled' && abort !== undefined,
    );
  } catch {
    return null;
  }
}

/** Rules of others are kept: writing one rule replaces them all. */
async function lifecycleOf({ s3, bucket, signal }: BucketDeps) {
  try {
    const answer = await s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket: bucket }), {
      abortSignal: signal,
    });
    return answer.Rules ?? [];
  } catch (error) {
    if (nameOf(error) === 'NoSuchLifecycleConfiguration') return [];
    throw error;
  }
}

/** Another Trawl process created it at the same moment. */
function unlessOurs(error: unknown): void {
  if (nameOf(error) !== 'BucketAlreadyOwnedByYou') throw error;
}
