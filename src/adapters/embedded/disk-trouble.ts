import { errorCode } from '../../domain/error-code.ts';
import { StorageTrouble } from '../../ports/storage-trouble.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
/** Errors about the disk or our access to it, not about the call: another call would fail the same way. */
const FAILING = new Set(['EIO', 'EROFS', 'EACCES', 'EPERM', 'ENXIO', 'ENODEV', 'ESTALE', 'EMFILE', 'ENFILE']);

/** The error to throw for one of the file system: StorageTrouble if the disk is to blame, otherwise itself. */
export function asStorageTrouble(error: unknown, doing: string): unknown {
  const code = errorCode(error);
  if (code === null || !(error instanceof Error)) return error;
  if (FULL.has(code)) return new StorageTrouble('full', `${doing}: ${error.message}`, error);
  if (FAILING.has(code)) return new StorageTrouble('io', `${doing}: ${error.message}`, error);
  return error;
}
