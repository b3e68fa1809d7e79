import { statSync } from 'node:fs';
import { StorageTrouble } from '../../../ports/storage-trouble.ts';

/**
 * Guards the files that an open ledger writes to. SQLite silently continues if another program deletes or replaces
 * them: what is then committed goes into files without a name, or into pages that the next start cannot read. Only this
 * process writes them, and only inside `Database`, so whatever changed between two of its writes was changed by another
 * program.
 * A look at both files takes about ten microseconds, and a group commit a millisecond, so every group is preceded by a
 * look, and every promise as well: what is acknowledged was committed to files that still had their names afterwards.
 */
export class LedgerFiles {
  readonly #files: readonly string[];
  #seen: readonly Seen[];

  constructor(file: string) {
    this.#files = [file, `${file}-wal`];
    this.#seen = this.#files.map(look);
  }

  /** This process has written. A file other than the one it had open is not accepted as its own. */
  note(): void {
    this.#seen = this.#files.map((file, index) => {
      const now = look(file);
      const before = this.#seen[index] ?? null;
      return before === null || isSameFile(before, now) ? now : before;
    });
  }

  /** Throws StorageTrouble if another program deleted, replaced or changed them since this process wrote them. */
  check(): void {
    for (const [index, file] of this.#files.entries()) {
      const before = this.#seen[index] ?? null;
      if (before === null) continue;
      const now = look(file);
      if (!isSameFile(before, now)) throw broken(file, now === null ? 'was deleted or moved' : 'was replaced');
      if (now?.size !== before.size || now.changedAt !== before.changedAt) throw broken(file, 'was changed');
    }
  }
}

type Seen = {
  readonly device: bigint;
  readonly inode: bigint;
  readonly size: bigint;
  readonly changedAt: bigint;
} | null;

function look(file: string): Seen {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (found === undefined) return null;
  const { dev: device, ino: inode, size, mtimeNs: changedAt } = found;
  return { device, inode, size, changedAt };
}

function isSameFile(one: Seen, other: Seen): boolean {
  return one !== null && other !== null && one.device === other.device && one.inode === other.inode;
}

function broken(file: string, what: string): StorageTrouble {
  return new StorageTrouble(
    'broken',
    `${file} ${what} by another program while Trawl had it open. Nothing more is written. Stop Trawl, put the data ` +
      'directory back as it was or restore a backup, and start again',
  );
}
