import { hash } from 'node:crypto';
import { z } from 'zod';
import { ProblemList, type VerifyReport } from '../../contract/verify-report.ts';
import { type Digest, jobPrefix } from '../../domain/artifact.ts';
import { errorMessage } from '../../domain/error-message.ts';
import { RECORDING_FILE } from '../../domain/job-metadata.ts';
import { MANIFEST_LISTS, type ManifestList, partName } from '../../domain/manifest.ts';
import { sliceFields } from '../../domain/result-address.ts';
import type { ResultStore } from '../../ports/result-store.ts';
import { IdHashes } from './id-hashes.ts';
import { ReadLimiter } from './read-limiter.ts';

/**
 * Checks a job from its results alone, so that a copy of them can be checked: the parts against the hashes in
 * `job_metadata.json`, the lists against each other and the counts, that every id occurs once, and each artifact
 * against its size and hash. Memory: one part of each list, the artifacts being read, and eight bytes per item.
 */
interface VerifyDeps {
  readonly store: Pick<ResultStore, 'get'>;
  readonly digest: Digest;
}

const count = z.number().int().min(0);
const hex = z.string().regex(/^[0-9a-f]{64}$/);

const metadataSchema = z.object({
  job_id: z.string(),
  status: z.string(),
  counts: z.object({ total: count, success: count, failed: count, skipped: count, cancelled: count }),
  parts: z.object({ full: count, success: count, errors: count }),
  // Only of a job with a recording of its own.
  recording: z.object({ file: z.literal(RECORDING_FILE), sha256: hex }).optional(),
  part_hashes: z.array(z.object({ list: z.enum(MANIFEST_LISTS), part: count, items: count, sha256: hex })),
});

const artifactSchema = z.object({
  key: z.string(),
  offset: count.optional(),
  length: count.optional(),
  size: count,
  sha256: hex,
  // Manifests from before slices existed may lack it, and then it does not matter.
  encoding: z.enum(['identity', 'gzip']).default('identity'),
});

const entrySchema = z.object({
  item_id: z.string(),
  status: z.enum(['success', 'failed', 'skipped', 'cancelled']),
  artifacts: z.array(artifactSchema),
});

const partSchema = z.object({
  job_id: z.string(),
  list: z.enum(MANIFEST_LISTS),
  part: count,
  count,
  items: z.array(z.unknown()),
});

type Metadata = z.infer<typeof metadataSchema>;
type Entry = z.infer<typeof entrySchema>;

/** An index that was replaced while it was read looks damaged but is not, so it is read again. */
export async function verifyJob(deps: VerifyDeps, jobId: string): Promise<VerifyReport> {
  const key = `${jobPrefix(jobId, deps.digest)}job_metadata.json`;
  for (let looks = 1; ; looks += 1) {
    const read = await readJson(deps.store, key);
    const report = await verifyIndex(deps, jobId, key, read);
    if (report.kind === 'nothing' || report.problemCount === 0 || looks === MOST_LOOKS) return report;
    const now = await readJson(deps.store, key);
    if (read.kind === 'json' && now.kind === 'json' && now.sha256 === read.sha256) return report;
    if (read.kind !== 'json' && now.kind !== 'json') return report;
  }
}

const MOST_LOOKS = 3;

async function verifyIndex(deps: VerifyDeps, jobId: string, key: string, read: JsonRead): Promise<VerifyReport> {
  if (read.kind === 'missing') {
    return { kind: 'nothing', message: `there is no ${key}: no such job, or one that is not finished yet` };
  }
  const metadata = read.kind === 'json' ? metadataSchema.safeParse(read.value) : null;
  if (!metadata?.success) return damagedMetadata(jobId, key);
  return await new Verification(deps, jobId, metadata.data).run();
}

function damagedMetadata(jobId: string, key: string): VerifyReport {
  return {
    kind: 'checked',
    jobId,
    status: 'unknown',
    counts: { total: 0, success: 0, failed: 0, skipped: 0, cancelled: 0 },
    checked: { parts: 0, items: 0, artifacts: 0, bytes: 0 },
    problems: [{ where: key, problem: 'it is not the metadata of a job' }],
    problemCount: 1,
  };
}

class Verification {
  readonly #deps: VerifyDeps;
  readonly #jobId: string;
  readonly #metadata: Metadata;
  readonly #problems = new ProblemList();
  readonly #reads = new ReadLimiter();
  readonly #hashes: ReadonlyMap<string, Metadata['part_hashes'][number]>;
  /** Lists found to be wrong: reported once, because everything that follows would be wrong for the same reason. */
  readonly #wrong = new Set<ManifestList>();
  readonly #checked = { parts: 0, items: 0, artifacts: 0, bytes: 0 };

  constructor(deps: VerifyDeps, jobId: string, metadata: Metadata) {
    this.#deps = deps;
    this.#jobId = jobId;
    this.#metadata = metadata;
    this.#hashes = new Map(metadata.part_hashes.map((each) => [partName(each.list, each.part), each]));
  }

  async run(): Promise<VerifyReport> {
    const { job_id: jobId, status, counts } = this.#metadata;
    if (jobId !== this.#jobId) this.#problems.add('job_metadata.json', `it belongs to the job ${jobId}`);
    const hashes = new IdHashes();
    const seen = { success: 0, failed: 0, skipped: 0, cancelled: 0 };
    const lists = { success: this.#entries('success'), errors: this.#entries('errors') };
    for await (const { entry, text } of this.#entries('full')) {
      seen[entry.status] += 1;
      this.#checked.items += 1;
      hashes.add(this.#hashOf(entry.item_id));
      if (entry.status === 'success') await this.#agrees('success', lists.success, text, entry);
      if (entry.status === 'failed') await this.#agrees('errors', lists.errors, text, entry);
      await this.#checkArtifacts(entry);
    }
    await this.#reads.idle();
    for (const list of ['success', 'errors'] as const) {
      let more = 0;
      for await (const _ of lists[list]) more += 1;
      if (more > 0 && !this.#wrong.has('full'))
        this.#problems.add(list, `it lists ${more} items more than the list full has with that status`);
    }
    for (const each of ['success', 'failed', 'skipped', 'cancelled'] as const) {
      this.#sameCount(`items that are ${each}`, seen[each], counts[each]);
    }
    this.#sameCount('items', this.#checked.items, counts.total);
    await this.#nameRepeated(hashes.repeated(1000));
    await this.#checkRecording();
    return {
      kind: 'checked',
      jobId: this.#jobId,
      status,
      counts,
      checked: this.#checked,
      problems: this.#problems.first,
      problemCount: this.#problems.count,
    };
  }

  /** The lists are made in one pass over the items: each is the full one without the others. */
  async #agrees(list: ManifestList, entries: AsyncGenerator<Listed>, text: string, entry: Entry): Promise<void> {
    if (this.#wrong.has(list)) return;
    const next = await entries.next();
    if (this.#wrong.has(list) || (next.done !== true && next.value.text === text)) return;
    this.#wrong.add(list);
    const instead = next.done === true ? 'does not list it' : `has ${next.value.entry.item_id} in its place`;
    this.#problems.add(entry.item_id, `it is ${entry.status} in full, and the list ${list} ${instead}`);
    await entries.return(undefined);
  }

  async *#entries(list: ManifestList): AsyncGenerator<Listed> {
    for (let number = 0; number < this.#metadata.parts[list]; number += 1) {
      const items = await this.#readPart(list, number);
      if (items === null) {
        this.#wrong.add(list);
        return;
      }
      for (const value of items) {
        const entry = entrySchema.safeParse(value);
        if (entry.success) yield { entry: entry.data, text: JSON.stringify(value) };
        else this.#problems.add(partName(list, number), 'it has an entry that is not an item');
      }
    }
  }

  /** Null if it does not match the metadata; then the rest of its list cannot be judged. */
  async #readPart(list: ManifestList, number: number): Promise<readonly unknown[] | null> {
    const name = partName(list, number);
    const expected = this.#hashes.get(name);
    if (expected === undefined) return this.#bad(name, 'job_metadata.json has no hash of it');
    const read = await readJson(this.#deps.store, jobPrefix(this.#jobId, this.#deps.digest) + name);
    if (read.kind === 'missing') return this.#bad(name, 'it is missing');
    if (read.kind === 'damaged') return this.#bad(name, read.message);
    if (read.sha256 !== expected.sha256) return this.#bad(name, 'its SHA-256 is not the one in job_metadata.json');
    const part = partSchema.safeParse(read.value);
    if (!part.success) return this.#bad(name, 'it is not a part of a manifest');
    const { items, ...head } = part.data;
    if (head.job_id !== this.#jobId || head.list !== list || head.part !== number) {
      return this.#bad(name, `it says that it is part ${head.part} of ${head.list} of ${head.job_id}`);
    }
    for (const count of [expected.items, head.count]) {
      if (items.length !== count) return this.#bad(name, `it has ${items.length} items, and should have ${count}`);
    }
    this.#checked.parts += 1;
    return items;
  }

  async #checkRecording(): Promise<void> {
    const { recording } = this.#metadata;
    if (recording === undefined) return;
    const read = await readJson(this.#deps.store, jobPrefix(this.#jobId, this.#deps.digest) + recording.file);
    if (read.kind === 'missing') this.#bad(recording.file, 'it is missing');
    else if (read.kind === 'damaged') this.#bad(recording.file, read.message);
    else if (read.sha256 !== recording.sha256) {
      this.#bad(recording.file, 'its SHA-256 is not the one in job_metadata.json');
    }
  }

  async #checkArtifacts({ item_id: itemId, artifacts }: Entry): Promise<void> {
    for (const artifact of artifacts) {
      await this.#reads.start(artifact.size, async () => {
        const problem = await this.#artifactProblem(artifact);
        this.#checked.artifacts += 1;
        if (problem === null) this.#checked.bytes += artifact.size;
        else this.#problems.add(artifact.key, `${problem} (item ${itemId})`);
      });
    }
  }

  async #artifactProblem({
    key,
    encoding,
    size,
    sha256,
    ...slice
  }: Entry['artifacts'][number]): Promise<string | null> {
    let bytes: Uint8Array | null;
    try {
      bytes = await this.#deps.store.get({ key, encoding, ...sliceFields(slice) });
    } catch (error) {
      return errorMessage(error);
    }
    if (bytes === null) return 'it is missing';
    if (bytes.byteLength !== size) return `it has ${bytes.byteLength} bytes, and the manifest says ${size}`;
    return hash('sha256', bytes) === sha256 ? null : 'its SHA-256 is not the one in the manifest';
  }

  /** Reads the list a second time, because two ids may have the same hash. */
  async #nameRepeated(suspects: ReadonlySet<string>): Promise<void> {
    if (suspects.size === 0) return;
    const times = new Map<string, number>();
    for await (const { entry } of this.#entries('full')) {
      if (suspects.has(this.#hashOf(entry.item_id))) times.set(entry.item_id, (times.get(entry.item_id) ?? 0) + 1);
    }
    for (const [itemId, occurs] of times) {
      if (occurs > 1) this.#problems.add(itemId, `it is listed ${occurs} times in full`);
    }
  }

  #hashOf(itemId: string): string {
    // As JSON, because lone surrogates would otherwise all hash the same.
    return this.#deps.digest(JSON.stringify(itemId)).slice(0, 16);
  }

  #sameCount(what: string, found: number, expected: number): void {
    if (found !== expected) {
      this.#problems.add('job_metadata.json', `it counts ${expected} ${what}, and the list full has ${found}`);
    }
  }

  #bad(where: string, problem: string): null {
    this.#problems.add(where, problem);
    return null;
  }
}

interface Listed {
  readonly entry: Entry;
  readonly text: string;
}

type JsonRead =
  | { readonly kind: 'missing' }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'json'; readonly value: unknown; readonly sha256: string };

async function readJson(store: Pick<ResultStore, 'get'>, key: string): Promise<JsonRead> {
  try {
    const bytes = await store.get(key);
    if (bytes === null) return { kind: 'missing' };
    return { kind: 'json', value: JSON.parse(new TextDecoder().decode(bytes)), sha256: hash('sha256', bytes) };
  } catch (error) {
    return { kind: 'damaged', message: errorMessage(error) };
  }
}
