/**
 * Thrown by a ledger or a result store that cannot write: the disk is full (`full`), it fails (`io`), or the files of the
 * storage are damaged, deleted or replaced (`broken`). Nothing of the call took effect that was promised to be durable;
 * the same call may be made again later. It is nobody's attempt: the engine pauses what needs the storage, waits until a
 * write succeeds, and goes on. What is broken needs somebody who repairs it: the message says how.
 */
export type TroubleKind = 'full' | 'io' | 'broken';

export class StorageTrouble extends Error {
  readonly kind: TroubleKind;

  constructor(kind: TroubleKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StorageTrouble';
    this.kind = kind;
  }
}
