import { StorageTrouble } from '../../../ports/storage-trouble.ts';

/** Errors that need a correction, and that repeating the call would not fix. */
const OURS = new Set([
  'ValidationException',
  'AccessDeniedException',
  'UnrecognizedClientException',
  'InvalidSignatureException',
  'IdempotentParameterMismatchException',
  'ItemCollectionSizeLimitExceededException',
  'SerializationException',
  'MissingAuthenticationTokenException',
]);

export function isConditionFailed(error: unknown): boolean {
  return error instanceof Error && error.name === 'ConditionalCheckFailedException';
}

/** Translates an error that the SDK gave up on: temporary trouble, or something that an operator has to repair. */
export function translated(what: string, table: string, error: unknown): Error {
  if (error instanceof StorageTrouble) return error;
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  if (name === 'ResourceNotFoundException') {
    return new Error(`there is no table ${table}: create it with trawl doctor --create, or check TABLE_NAME`, {
      cause: error,
    });
  }
  if (OURS.has(name)) return new Error(`${what} on the table ${table}: ${name}: ${message}`, { cause: error });
  return new StorageTrouble('io', `${what} on the table ${table}: ${name}: ${message}`, error);
}
