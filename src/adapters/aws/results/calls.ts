import type { S3Client } from '@aws-sdk/client-s3';
import type { Clock } from '../../../ports/clock.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';
import { type Doing, resultError } from './errors.ts';

/** Time limit of one call with all the tries that the SDK makes. */
const CALL_MS = 180_000;

/**
 * The same for a call that writes or removes what others may write later: an index, the keys of a job. A leader that
 * takes over from one that may be alive waits longer than this before doing either.
 */
export const SHARED_CALL_MS = 30_000;

export interface SendOptions {
  readonly abortSignal: AbortSignal;
}

/** Calls about one bucket: each with a deadline, and with errors in our terms. */
export class BucketCalls {
  readonly s3: S3Client;
  readonly bucket: string;
  readonly clock: Clock;

  constructor(parts: { readonly s3: S3Client; readonly bucket: string; readonly clock: Clock }) {
    this.s3 = parts.s3;
    this.bucket = parts.bucket;
    this.clock = parts.clock;
  }

  /** Abort `signal` when the answer is no longer needed. */
  async call<T>(
    about: Omit<Doing, 'bucket'>,
    send: (options: SendOptions) => Promise<T>,
    { signal, endMs = CALL_MS }: { readonly signal?: AbortSignal; readonly endMs?: number } = {},
  ): Promise<T> {
    const [stop, over] = [new AbortController(), new AbortController()];
    const late = Promise.withResolvers<never>();
    void this.clock.sleep(endMs, over.signal).then(() => {
      if (over.signal.aborted) return;
      late.reject(new StorageTrouble('io', `${about.what}: no answer in ${endMs / 1000} s`));
      stop.abort();
    });
    const abortSignal = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
    try {
      // A race, because the SDK notices a stop only while it communicates, not in a pause or while it looks for
      // credentials.
      return await Promise.race([send({ abortSignal }), late.promise]);
    } catch (error) {
      throw resultError(error, { ...about, bucket: this.bucket });
    } finally {
      over.abort();
    }
  }
}
