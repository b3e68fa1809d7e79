export const TROUBLE_KINDS = ['full', 'io', 'broken'] as const;

export type TroubleKind = (typeof TROUBLE_KINDS)[number];

/**
 * Thrown by a ledger or a result store that cannot write: the disk is full (`full`), it fails (`io`), or the files of the
 * storage are damaged, deleted or replaced (`broken`). Nothing that the call promised to make durable took effect, and it
 * may be repeated later. No attempt is charged: the engine pauses what needs the storage, waits until a write succeeds,
 * and continues. Broken storage must be repaired by an operator: the message says how.
 */
export class StorageTrouble extends Error {
  readonly kind: TroubleKind;

  constructor(kind: TroubleKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StorageTrouble';
    this.kind = kind;
  }
}
