import { GetObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { LinkOptions } from '../../../ports/result-store.ts';
import type { BucketCalls } from './calls.ts';

/** A week: signatures of version 4 hold no longer. One by a role's credentials ends with those, if that is sooner. */
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

/** A file to keep, under a name that gets neither out of its quotes nor out of the folder it is for. */
function asAttachment(fileName: string): string {
  const plain = shortened(fileName, /[^\w.-]+/g, (name) => name.length);
  // What cannot be seen or turns the direction of writing could make a name look like another.
  const full = shortened(fileName, /[\p{C}\p{Z}\\/:*?"<>|]+/gu, (name) => Buffer.byteLength(name));
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(full)}`;
}

/** From the front where it is too long: the end of a name says what kind of file it is. */
function shortened(name: string, unsafe: RegExp, lengthOf: (name: string) => number): string {
  const characters = [...name.toWellFormed().replaceAll(unsafe, '_')];
  while (lengthOf(characters.join('')) > LONGEST_NAME) characters.splice(0, Math.ceil(characters.length / 10));
  return characters.join('').replace(/^[.-]+/, '') || 'file';
}

/** RFC 8187 has fewer characters stand for themselves than `encodeURIComponent`. */
function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}
