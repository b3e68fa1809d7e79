import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { errorMessage } from '../../../domain/error-message.ts';
import { takeOwnership } from '../owner-lock.ts';

type LedgerState =
  | { readonly kind: 'none' }
  /** Another process uses it; the message names it. */
  | { readonly kind: 'owned'; readonly message: string }
  | { readonly kind: 'idle'; readonly bytes: number }
  | { readonly kind: 'damaged'; readonly message: string };

/**
 * Looks at the ledger of a data directory without changing it. Meanwhile it holds the owner's lock, so that no process
 * opens the files for work; it takes milliseconds.
 */
export function inspectLedger(dataDir: string): LedgerState {
  const file = join(dataDir, 'ledger.db');
  if (!existsSync(file)) return { kind: 'none' };
  let lock: ReturnType<typeof takeOwnership>;
  try {
    lock = takeOwnership(dataDir);
  } catch (error) {
    return { kind: 'owned', message: errorMessage(error) };
  }
  try {
    return readLedger(file);
  } catch (error) {
    return { kind: 'damaged', message: errorMessage(error) };
  } finally {
    lock.release();
  }
}

function readLedger(file: string): LedgerState {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const pages = Number(db.prepare('PRAGMA page_count').get()?.['page_count']);
    const pageSize = Number(db.prepare('PRAGMA page_size').get()?.['page_size']);
    return { kind: 'idle', bytes: pages * pageSize };
  } finally {
    db.close();
  }
}
