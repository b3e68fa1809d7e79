/** One thing on AWS that was checked. A result other than `ok` says what to do. */
export interface Finding {
  readonly name: string;
  readonly result: 'ok' | 'warning' | 'problem';
  readonly message: string;
  readonly advice?: string;
}

export const CREATE = 'trawl doctor --create';

/** Whatever the SDK reported, with what to do about it. */
export function refusal(name: string, error: unknown): Finding {
  const { name: code, message } = error instanceof Error ? error : new Error(String(error));
  const isNameless = message === '' || message === 'UnknownError';
  // An error of our own says everything in its message.
  const said = isNameless ? code : code === 'Error' ? message : `${code}: ${message}`;
  return { name, result: 'problem', message: said, advice: adviceFor(code) };
}

export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

const NOT_ALLOWED = /AccessDenied|AccessDeniedException|Forbidden|UnauthorizedOperation|^403$/;

function adviceFor(code: string): string {
  if (NOT_ALLOWED.test(code)) return 'grant these credentials the permissions of the role in deploy/aws';
  if (/ExpiredToken|InvalidClientTokenId|UnrecognizedClient|InvalidAccessKeyId|Signature/.test(code)) {
    return 'renew the credentials, and check that they are for this account and region';
  }
  if (code === 'AbortError') return 'no answer in time: check AWS_REGION, AWS_ENDPOINT_URL_* and the network';
  if (code === 'Error') return 'fix that, or choose other names';
  return 'check AWS_REGION, AWS_ENDPOINT_URL_*, and the network of this machine';
}
