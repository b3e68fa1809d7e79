import type { JobRecord } from '../../domain/job.ts';

/**
 * Which attempt of an item this process wrote last, in a byte per item. An unknown item was either not written or
 * written by another process: writing it again is not an error, and neither is forgetting it.
 */
export class WrittenAttempts {
  readonly #jobs = new Map<string, AttemptsOfJob>();

  of(job: JobRecord): AttemptsOfJob {
    const life = lifeOf(job);
    const known = this.#jobs.get(job.jobId);
    if (known?.life === life) return known;
    const fresh = new AttemptsOfJob(life);
    this.#jobs.delete(job.jobId);
    this.#jobs.set(job.jobId, fresh);
    this.#makeRoom();
    return fresh;
  }

  #makeRoom(): void {
    const chunks = () => this.#jobs.values().reduce((sum, { size }) => sum + size, 0);
    while (this.#jobs.size > 1 && (this.#jobs.size > MAX_JOBS || chunks() > MAX_CHUNKS)) {
      const [oldest] = this.#jobs.keys();
      if (oldest !== undefined) this.#jobs.delete(oldest);
    }
  }
}

const CHUNK_ITEMS = 4096;
/** Limit for all jobs: 64 MiB, enough for as many million items. */
const MAX_CHUNKS = 16_384;
const MAX_JOBS = 1000;

/**
 * Changes whenever manifests have other content: another job with the same id, replaced data, or failed items that
 * became successes without another attempt.
 */
function lifeOf({ incarnation, replacedBy, replacedRound, recovering }: JobRecord): string {
  return JSON.stringify([incarnation, replacedBy, replacedRound, recovering]);
}

class AttemptsOfJob {
  readonly life: string;
  readonly #chunks = new Map<number, Uint8Array>();

  constructor(life: string) {
    this.life = life;
  }

  get size(): number {
    return this.#chunks.size;
  }

  /** Whether this attempt, or a later one, has been written. */
  has(seq: number, attempt: number): boolean {
    // Numbers too large for a byte are written every time.
    return attempt < MAX_ATTEMPT && (this.#chunks.get(chunkOf(seq))?.[seq % CHUNK_ITEMS] ?? 0) >= attempt;
  }

  add(seq: number, attempt: number): void {
    const chunk = this.#chunks.get(chunkOf(seq)) ?? new Uint8Array(CHUNK_ITEMS);
    this.#chunks.set(chunkOf(seq), chunk);
    chunk[seq % CHUNK_ITEMS] = Math.min(attempt, MAX_ATTEMPT);
  }
}

const MAX_ATTEMPT = 255;

function chunkOf(seq: number): number {
  return Math.floor(seq / CHUNK_ITEMS);
}
