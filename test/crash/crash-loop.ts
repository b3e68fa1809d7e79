import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FAULT_POINTS, type FaultPoint } from '../../src/ports/faults.ts';
import { type JobSums, sumUp } from './sums.ts';

/**
 * Kills the engine's processes again and again while they work: the owner of the database and the workers, by SIGKILL at
 * random moments and at named points, and workers by SIGSTOP past their lease and SIGCONT. Then every job is brought to
 * its end and the totals are checked. The choices are seeded; when they strike depends on the machine.
 */
export interface CrashOptions {
  readonly kills: number;
  readonly itemsPerJob: number;
  readonly seed: number;
  readonly keep: boolean;
  readonly say: (line: string) => void;
}

/** Points that a process passes a few times in its life, not for every item. */
const RARE_POINTS: ReadonlySet<FaultPoint> = new Set([
  'after-expire',
  'after-finish-before-manifest',
  'between-manifest-parts',
  'after-manifest-before-record',
  'between-import-chunks',
]);

/** Short, so that a stopped worker loses its lease within the loop's patience. */
const LEASE_MS = 1500;

export async function crashLoop(options: CrashOptions) {
  const dataDir = mkdtempSync(join(tmpdir(), 'trawl-crash-'));
  const logFile = join(dataDir, 'log.txt');
  const loop = new Loop(dataDir, logFile, options);
  try {
    const kills = await loop.run();
    const sums = await sumUp(dataDir, loop.jobs, options.itemsPerJob, logFile, kills.moments);
    return report(kills.census, sums, options);
  } finally {
    await loop.end();
    if (options.keep) options.say(`kept ${dataDir}`);
    else rmSync(dataDir, { recursive: true, force: true });
  }
}

class Loop {
  readonly jobs: string[] = [];
  readonly #dataDir: string;
  readonly #logFile: string;
  readonly #options: CrashOptions;
  readonly #random: () => number;
  readonly #census: Record<string, number> = {};
  /** When which process was killed: the log shows what it was working on. */
  readonly #moments: { pid: number; at: number }[] = [];
  #host: ChildProcess | null = null;
  #deathsSeen = 0;
  #stopped: number[] = [];

  constructor(dataDir: string, logFile: string, options: CrashOptions) {
    this.#dataDir = dataDir;
    this.#logFile = logFile;
    this.#options = options;
    this.#random = seeded(options.seed);
  }

  async run() {
    const { kills, say } = this.#options;
    let done = 0;
    while (done < kills) {
      const jobId = `crash-${this.jobs.length}`;
      this.jobs.push(jobId);
      say(`job ${jobId}: ${this.#options.itemsPerJob} items`);
      let isOver = false;
      while (!isOver && done < kills) {
        isOver = await this.#oneLife(jobId, () => {
          done += 1;
          if (done % 20 === 0) say(`${done} of ${kills} kills`);
          return done < kills;
        });
      }
      // The last life of a job is left alone: everything must come to its end.
      if (!isOver) await this.#finish(jobId);
    }
    return { census: this.#census, moments: this.#moments };
  }

  async end(): Promise<void> {
    for (const pid of this.#stopped) signal(pid, 'SIGCONT');
    this.#host?.kill('SIGKILL');
  }

  /** Runs a host and interferes with it until it is dead or done. Answers whether the job came to its end. */
  async #oneLife(jobId: string, onKill: () => boolean): Promise<boolean> {
    const named = (this.#random() < 0.5 ? this.#pick(FAULT_POINTS) : undefined) ?? null;
    const chance = named !== null && RARE_POINTS.has(named) ? 0.3 : 0.02;
    const { exited, ready } = this.#start(jobId, named === null ? '' : `${named}:${chance}`);
    await Promise.race([ready, exited]);
    this.#countDeaths(null, onKill);
    const strikes = 2 + Math.floor(this.#random() * 6);
    for (let strike = 0; strike < strikes; strike += 1) {
      const ended = await Promise.race([exited, wait(100 + this.#random() * 300).then(() => null)]);
      this.#countDeaths(named, onKill);
      if (ended !== null) return this.#afterExit(ended, named, onKill);
      // A life with a named point is left to it, and ends by the owner's death.
      if (named !== null && strike < strikes - 1) continue;
      const isLast = strike === strikes - 1;
      if (!(await this.#strike(isLast, onKill))) return false;
      if (isLast) await exited;
    }
    return false;
  }

  /** Workers that died without our doing died at the named point. */
  #countDeaths(named: FaultPoint | null, onKill: () => boolean): void {
    const file = join(this.#dataDir, 'deaths');
    const died = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').slice(this.#deathsSeen) : [];
    this.#deathsSeen += died.length;
    for (const pid of died.map(Number)) {
      if (named === null || this.#moments.some((kill) => kill.pid === pid)) continue;
      this.#count(`worker at ${named}`);
      this.#moments.push({ pid, at: Date.now() });
      onKill();
    }
  }

  #afterExit(ended: Exit, named: FaultPoint | null, onKill: () => boolean): boolean {
    if (ended.code === 0) return true;
    if (ended.signal !== 'SIGKILL')
      throw new Error(`the host ended by itself: ${JSON.stringify(ended)}\n${ended.stderr}`);
    this.#count(`owner at ${named}`);
    onKill();
    return false;
  }

  /** Answers whether there is more to kill. */
  async #strike(isLast: boolean, onKill: () => boolean): Promise<boolean> {
    const host = this.#host?.pid ?? 0;
    if (isLast) {
      this.#count('owner');
      this.#kill(host);
      onKill();
      return true;
    }
    const worker = this.#pick(this.#workers());
    if (worker === undefined) return true;
    if (this.#random() < 0.2) {
      this.#count('worker stopped past its lease');
      signal(worker, 'SIGSTOP');
      this.#stopped.push(worker);
      await wait(LEASE_MS * 1.6);
      signal(worker, 'SIGCONT');
      this.#stopped = this.#stopped.filter((pid) => pid !== worker);
    } else {
      this.#count('worker');
      this.#kill(worker);
    }
    return onKill();
  }

  async #finish(jobId: string): Promise<void> {
    await this.#host?.kill('SIGKILL');
    const { exited } = this.#start(jobId, '');
    const ended = await exited;
    if (ended.code !== 0) throw new Error(`the last run of ${jobId} failed: ${JSON.stringify(ended)}`);
  }

  #start(jobId: string, faults: string) {
    const host = spawn(
      process.execPath,
      [fileURLToPath(new URL('host.ts', import.meta.url)), jobId, String(this.#options.itemsPerJob), this.#logFile],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          NODE_COMPILE_CACHE: join(this.#dataDir, 'compiled'),
          TRAWL_DATA_DIR: this.#dataDir,
          TRAWL_SCRAPERS: fileURLToPath(new URL('scrapers', import.meta.url)),
          TRAWL_WORKERS: '2',
          TRAWL_SLOTS: '8',
          TRAWL_LEASE_MS: String(LEASE_MS),
          TRAWL_FAULTS: faults,
          TRAWL_LOG_LEVEL: 'error',
        },
      },
    );
    this.#host = host;
    let stderr = '';
    host.stderr.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString()).slice(-4000);
    });
    const ready = new Promise<void>((resolve) => host.stdout.once('data', () => resolve()));
    const exited = new Promise<Exit>((resolve) =>
      host.once('close', (code, name) => resolve({ code, signal: name, stderr })),
    );
    return { exited, ready };
  }

  #workers(): number[] {
    const file = join(this.#dataDir, 'pids');
    if (!existsSync(file)) return [];
    try {
      const { workers }: { workers: number[] } = JSON.parse(readFileSync(file, 'utf8'));
      return workers;
    } catch {
      return []; // caught while it was being written
    }
  }

  #kill(pid: number): void {
    this.#moments.push({ pid, at: Date.now() });
    signal(pid, 'SIGKILL');
  }

  #count(what: string): void {
    this.#census[what] = (this.#census[what] ?? 0) + 1;
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)];
  }
}

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

function signal(pid: number, name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It died before we got to it.
  }
}

/** Mulberry32: small, and good enough to choose whom to kill. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function report(census: Readonly<Record<string, number>>, sums: JobSums, options: CrashOptions) {
  const kills = Object.values(census).reduce((sum, count) => sum + count, 0);
  const isWhole = sums.problems.length === 0 && kills >= options.kills;
  const lines = [
    `${kills} kills:`,
    ...Object.entries(census).map(([what, count]) => `  ${String(count).padStart(4)}  ${what}`),
    `${sums.items} items in ${sums.jobs} jobs: ${sums.lost} lost, ${sums.doubled} counted twice, ${sums.poison} taken for poison`,
    `${sums.artifacts} artifacts: ${sums.corrupt} missing or corrupt; ${sums.fenced} late writes fenced`,
    `work of a killed worker ran again after ${sums.again.medianMs} ms (median), ${sums.again.maxMs} ms at most, over ${sums.again.cases} items`,
    ...sums.problems.map((problem) => `PROBLEM: ${problem}`),
    isWhole ? 'nothing lost, nothing counted twice' : 'FAILED',
  ];
  return { isWhole, kills, census, ...sums, lines };
}
