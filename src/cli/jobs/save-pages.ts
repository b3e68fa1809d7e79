import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { itemPath } from '../../contract/client/api-paths.ts';
import { receiveFile } from '../../contract/client/receive-file.ts';
import type { FailuresAnswer } from '../../contract/failure-answers.ts';
import { fileStem } from '../../domain/file-stem.ts';
import { digest } from '../../main/digest.ts';
import type { Client } from '../client/command.ts';
import { fileTarget } from '../client/file-target.ts';
import { formatItems } from '../format.ts';

/** Downloads the pages of the examples of each group, named after the group and the item: `3f9a1c0b7d2e-200-14-030.html`. */
export async function savePages(
  { api, note }: Client,
  { job_id, groups }: FailuresAnswer,
  folder: string,
): Promise<void> {
  let saved = 0;
  for (const { id, examples } of groups) {
    for (const { item_id, page } of examples) {
      const artifact = page === null ? null : new URLSearchParams(page.split('?')[1]).get('artifact');
      if (artifact === null) continue;
      const file = join(folder, `${fileStem(id, digest)}-${fileStem(item_id, digest)}.html`);
      const target = await fileTarget(file, { keepsUnfinished: false, option: '--save' });
      try {
        const deps = { api, target, startHash: () => createHash('sha256'), onBytes: () => {} };
        await receiveFile(deps, { path: `${itemPath(job_id, item_id)}/download`, query: { artifact } });
        await target.finish();
      } finally {
        await target.close();
      }
      saved += 1;
    }
  }
  note(saved === 0 ? 'No pages of these failures were kept.' : `${folder}: ${formatItems(saved, 'page')} downloaded`);
}
