import type { ItemAnswer } from '../../contract/item-answers.ts';
import { storedName } from '../../domain/artifact.ts';
import { fileStem } from '../../domain/file-stem.ts';
import { digest } from '../../main/digest.ts';

type Artifact = ItemAnswer['artifacts'][number];

/**
 * The name of an item's file: its id and an extension, such as `200-14-030.pdf`. An id that some file system would not
 * accept as it is gets other characters and a digest, so that no two ids share a name.
 */
export function artifactFileName(itemId: string, artifact: Artifact): string {
  return `${fileStem(itemId, digest)}.${endOf(artifact)}`;
}

/**
 * For a file whose usual name is taken by other content: it is named after its content, so that a second run finds it
 * again.
 */
export function fileNameApart(itemId: string, artifact: Artifact, { isLong = false } = {}): string {
  return `${fileStem(itemId, digest)}~${artifact.sha256.slice(0, isLong ? 64 : 8)}.${endOf(artifact)}`;
}

/** The extension, preceded by the name of a named page, so that several pages of an item can share a folder. */
function endOf({
  kind,
  name,
  key,
  content_type: contentType,
  size,
  sha256,
  encoding,
  offset,
  length,
}: Artifact): string {
  const slice = { ...(offset === undefined ? {} : { offset }), ...(length === undefined ? {} : { length }) };
  const extension = storedName({ kind, key, contentType, size, sha256, encoding, ...slice }).replace(/^.*\./, '');
  return name === undefined ? extension : `${name}.${extension}`;
}
