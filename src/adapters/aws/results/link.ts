import { GetObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { LinkOptions } from '../../../ports/result-store.ts';
import type { BucketCalls } from './calls.ts';

/** A week: signatures of version 4 last no longer. One by a role's credentials ends with those, if that is sooner. */
const LONGEST_SECONDS = 7 * 24 * 3600;
/** A file name of 255 bytes is the longest that file systems take. */
const LONGEST_NAME = 200;

export function presignedUrl(calls: BucketCalls, key: string, options: LinkOptions): Promise<string> {
  const { expiresSeconds, fileName, contentType } = options;
  if (!Number.isSafeInteger(expiresSeconds) || expiresSeconds < 1 || expiresSeconds > LONGEST_SECONDS) {
    throw new RangeError(`a link holds from 1 s to ${LONGEST_SECONDS} s, and not ${expiresSeconds}`);
  }
  const command = new GetObjectCommand({
    Bucket: calls.bucket,
    Key: key,
    ResponseContentDisposition: asAttachment(fileName),
    ...(contentType === undefined ? {} : { ResponseContentType: contentType }),
  });
  // Nothing is sent, but credentials may have to be fetched.
  return calls.call({ what: `cannot sign a link to ${key}`, action: 's3:GetObject' }, () =>
    getSignedUrl(calls.s3, command, { expiresIn: expiresSeconds }),
  );
}

/** A file to save, under a name that can escape neither from its quotes nor from its folder. */
function asAttachment(fileName: string): string {
  const plain = shortened(fileName, /[^\w.-]+/g, (name) => name.length);
  // Invisible characters, and those that change the direction of writing, could make a name look like another.
  const full = shortened(fileName, /[\p{C}\p{Z}\\/:*?"<>|]+/gu, (name) => Buffer.byteLength(name));
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(full)}`;
}

/** Cut at the front if it is too long: the end of a name shows the kind of file. */
function shortened(name: string, unsafe: RegExp, lengthOf: (name: string) => number): string {
  const characters = [...name.toWellFormed().replaceAll(unsafe, '_')];
  while (lengthOf(characters.join('')) > LONGEST_NAME) characters.splice(0, Math.ceil(characters.length / 10));
  return characters.join('').replace(/^[.-]+/, '') || 'file';
}

/** RFC 8187 leaves fewer characters unescaped than `encodeURIComponent`. */
function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}
