import { errorCode } from '../../../domain/error-code.ts';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';

/** What S3 said, by what follows from it. */
type S3Refusal =
  | 'missing'
  | 'no-upload'
  | 'taken'
  | 'conflict'
  | 'no-bucket'
  | 'not-allowed'
  | 'not-known'
  | 'full'
  | 'passing'
  | 'other';

/** Other S3 servers have their own codes for some errors, so the status decides if a code is not listed here. */
const BY_CODE: Readonly<Record<string, S3Refusal>> = {
  NoSuchKey: 'missing',
  NotFound: 'missing',
  NoSuchUpload: 'no-upload',
  PreconditionFailed: 'taken',
  ConditionalRequestConflict: 'conflict',
  OperationAborted: 'conflict',
  NoSuchBucket: 'no-bucket',
  AccessDenied: 'not-allowed',
  AllAccessDisabled: 'not-allowed',
  NotImplemented: 'not-known',
  MethodNotAllowed: 'not-known',
  QuotaExceeded: 'full',
  XMinioStorageFull: 'full',
  // The next four are about bytes or clocks that went wrong on the way: the same call may succeed.
  BadDigest: 'passing',
  IncompleteBody: 'passing',
  XAmzContentSHA256Mismatch: 'passing',
  RequestTimeTooSkewed: 'passing',
  RequestTimeout: 'passing',
  InternalError: 'passing',
  ServiceUnavailable: 'passing',
  SlowDown: 'passing',
  TimeoutError: 'passing',
};

const BY_STATUS: Readonly<Record<number, S3Refusal>> = {
  403: 'not-allowed',
  404: 'missing',
  408: 'passing',
  412: 'taken',
  429: 'passing',
  501: 'not-known',
  507: 'full',
};

/** Errors of sockets and names. */
const BROKEN_LINE =
  /^(?:ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|EPROTO|ERR_STREAM_PREMATURE_CLOSE)$/;

export function refusalOf(error: unknown): S3Refusal {
  if (!(error instanceof Error)) return 'other';
  return refusalFor(error.name, statusOf(error)) ?? (BROKEN_LINE.test(errorCode(error) ?? '') ? 'passing' : 'other');
}

/** For an entry of a bulk call, which has a code and no status. */
export function refusalOfCode(code: string | undefined): S3Refusal {
  return refusalFor(code ?? '', null) ?? 'other';
}

/** For a `catch`: the result for certain refusals; any other error is rethrown. */
export function instead<T>(answers: Partial<Readonly<Record<S3Refusal, T>>>): (error: unknown) => T {
  return (error) => {
    const refusal = refusalOf(error);
    const found = Object.entries(answers).find(([name]) => name === refusal);
    if (found === undefined) throw error;
    return found[1];
  };
}

/** What was being done: in our words, for the message, and as the action that a policy would have to allow. */
export interface Doing {
  readonly what: string;
  readonly action: `s3:${string}`;
  readonly bucket: string;
}

/** Translates an error that the SDK gave up on: temporary trouble, or something that an operator has to repair. */
export function resultError(error: unknown, { what, action, bucket }: Doing): Error {
  if (error instanceof StorageTrouble) return error;
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const said = message === '' || message === name ? name : `${name}: ${message}`;
  switch (refusalOf(error)) {
    case 'no-bucket':
      return new Error(
        `${what}: there is no bucket ${bucket}: run trawl doctor --create, or check WEB_SCRAPER_RESULTS_BUCKET`,
        { cause: error },
      );
    case 'not-allowed':
      return new Error(`${what}: access denied: ${action} in the bucket ${bucket}: ${said}. ${cureOf(action)}`, {
        cause: error,
      });
    case 'full':
      return new StorageTrouble('full', `${what}: ${said}`, error);
    case 'passing':
    case 'conflict':
      return new StorageTrouble('io', `${what}: ${said}`, error);
    default:
      return new Error(`${what} (${action}): ${said}`, { cause: error });
  }
}

function cureOf(action: string): string {
  const cure = 'Grant it to the role, or check its credentials';
  // Without permission to list, S3 says that a missing key is forbidden.
  return action === 's3:GetObject' ? `${cure}; without s3:ListBucket, a missing key looks the same` : cure;
}

function refusalFor(code: string, status: number | null): S3Refusal | null {
  const known = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined;
  if (known !== undefined) return known;
  if (status === null) return null;
  return BY_STATUS[status] ?? (status >= 500 ? 'passing' : null);
}

function statusOf(error: Error): number | null {
  const metadata = '$metadata' in error ? error.$metadata : null;
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return null;
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : null;
}
