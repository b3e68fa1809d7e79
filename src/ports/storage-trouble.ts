/**
 * Thrown by a ledger or a result store that cannot write: the disk is full, or it fails. Nothing of the call took
 * effect that was promised to be durable; the same call may be made again later. It is nobody's attempt: the engine
 * pauses what needs the storage, waits for room, and goes on.
 */
export class StorageTrouble extends Error {
  readonly kind: 'full' | 'io';

  constructor(kind: 'full' | 'io', message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StorageTrouble';
    this.kind = kind;
  }
}
