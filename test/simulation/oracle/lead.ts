import type { SimProcess } from '../sim-process.ts';

/** One controller leads at a time, and only one that has good reason to believe that it leads does its work. */
export class LeadOracle {
  readonly #knownUntil = new Map<string, number>();
  readonly #fail: (message: string) => void;
  /** Unknown after a crash of the process that keeps it, until a controller leads again. */
  #leader: { readonly holder: string; readonly until: number } | 'unknown' | null = null;

  constructor(fail: (message: string) => void) {
    this.#fail = fail;
  }

  asked(holder: string, leads: boolean, until: number, now: number): void {
    if (this.#leader !== 'unknown') {
      const other = this.#leader !== null && this.#leader.holder !== holder ? this.#leader : null;
      const isFarAhead = other !== null && other.until > now + 2 * (until - now);
      const isFree = other === null || other.until <= now || isFarAhead;
      if (leads && !isFree) this.#fail(`${holder} was given the lead, and ${other?.holder} has it`);
      if (!leads && isFree) this.#fail(`${holder} was refused the lead, and nobody has it`);
    }
    if (leads) this.#leader = { holder, until };
  }

  resigned(holder: string): void {
    if (this.#leader !== 'unknown' && this.#leader?.holder === holder) this.#leader = null;
  }

  forgotten(): void {
    this.#leader = 'unknown';
  }

  /** A controller learned whether it leads; by its own clock it may rely on that until then. */
  heard(process: SimProcess, leads: boolean, until: number): void {
    if (leads) this.#knownUntil.set(process.name, until);
    else this.#knownUntil.delete(process.name);
  }

  mustLead(process: SimProcess, what: string): void {
    const until = this.#knownUntil.get(process.name);
    if (until === undefined || process.clock.elapsed() > until)
      this.#fail(`${process.name} does not lead, and calls ${what}`);
  }
}
