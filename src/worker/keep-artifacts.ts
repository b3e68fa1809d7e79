import {
  apartName,
  artifactKey,
  type Digest,
  keptEncoding,
  mediaTypeFor,
  type StoredArtifact,
} from '../domain/artifact.ts';
import { sliceFields } from '../domain/result-address.ts';
import type { Clock } from '../ports/clock.ts';
import { KeyTaken, type Put, type ResultStore, type StoredBytes } from '../ports/result-store.ts';
import type { ProducedArtifact } from '../scraping/scraper.ts';

interface KeepDeps {
  readonly store: ResultStore;
  readonly clock: Pick<Clock, 'id'>;
  readonly digest: Digest;
}

interface KeptAttempt {
  readonly jobId: string;
  readonly itemId: string;
  readonly attempt: number;
}

/**
 * Stores what an attempt produced, all of it in one folder: the one that users expect or, if other bytes are there, one
 * that no other attempt can have. What was put into the first one before that became clear is in no record, and is
 * removed with the job.
 */
export async function keepArtifacts(
  deps: KeepDeps,
  at: KeptAttempt,
  artifacts: readonly ProducedArtifact[],
): Promise<readonly StoredArtifact[]> {
  const stored = await putInOneFolder(deps, at, artifacts);
  return stored.flatMap((bytes, index): StoredArtifact[] => {
    const made = artifacts[index];
    return made === undefined ? [] : [storedArtifact(made, bytes)];
  });
}

function storedArtifact({ kind, name, contentType }: ProducedArtifact, bytes: StoredBytes): StoredArtifact {
  const { key, size, sha256, encoding } = bytes;
  const named = name === undefined ? { kind } : { kind, name };
  const about = { size, sha256, encoding, contentType: mediaTypeFor(kind, contentType) };
  return { ...named, key, ...sliceFields(bytes), ...about };
}

/** The expected folder, and a few with unguessable names: a store that says `taken` to all of them is broken. */
const MAX_FOLDERS = 4;

async function putInOneFolder(
  { store, clock, digest }: KeepDeps,
  at: KeptAttempt,
  artifacts: readonly ProducedArtifact[],
): Promise<readonly StoredBytes[]> {
  for (let folders = 1; ; folders += 1) {
    const apart = folders === 1 ? {} : { apart: apartName(at.itemId, clock.id(), digest) };
    const puts = artifacts.map((made): Put => {
      const { kind, bytes } = made;
      return {
        key: artifactKey({ ...at, ...apart }, made, digest),
        body: bytes,
        contentType: mediaTypeFor(kind, made.contentType),
        encoding: keptEncoding(kind, bytes),
        ifTaken: 'keep',
      };
    });
    try {
      return await store.putAll(puts);
    } catch (error) {
      if (!(error instanceof KeyTaken) || folders === MAX_FOLDERS) throw error;
    }
  }
}
