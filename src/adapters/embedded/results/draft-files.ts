import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { DraftPlace } from '../../../domain/spilling-draft.ts';
import { asStorageTrouble } from '../disk-trouble.ts';
import type { UnfinishedResults } from './unfinished-results.ts';

/** Most documents are smaller, and never touch the disk before they have their place. */
const IN_MEMORY_BYTES = 256 * 1024;

/** What a test may put a full disk in the place of. */
export type OpenDraftFile = (path: string) => Promise<Pick<FileHandle, 'appendFile' | 'close'>>;

const openNew: OpenDraftFile = (path) => open(path, 'wx', 0o600);

export interface DraftFile {
  readonly path: string;
  readonly handle: Awaited<ReturnType<OpenDraftFile>>;
}

/** Large drafts as files among the unfinished results, written without blocking. A put links or renames them. */
export function draftFiles(unfinished: UnfinishedResults, openFile: OpenDraftFile = openNew): DraftPlace<DraftFile> {
  return {
    inMemoryBytes: IN_MEMORY_BYTES,
    newHash: () => createHash('sha256'),
    open: () =>
      unfinished.againLater(async () => {
        const path = unfinished.newPath();
        return { path, handle: await openFile(path) };
      }),
    append: ({ handle }, bytes) => handle.appendFile(bytes),
    seal: ({ handle }) => handle.close(),
    async remove({ path, handle }) {
      try {
        await handle.close();
      } finally {
        unfinished.unlink(path);
      }
    },
    explain: (error) => asStorageTrouble(error, 'cannot write a draft'),
  };
}
