import { isDue } from '../../../src/domain/due.ts';
import type { Lead, Leadership } from '../../../src/ports/leadership.ts';

export class MemoryLeadership implements Leadership {
  #leader: { readonly holder: string; readonly until: number; readonly as: Exclude<Lead, false> } | null = null;

  async lead(holder: string, until: number, now: number): Promise<Lead> {
    const former = this.#leader;
    const isFree = former === null || former.holder === holder || isDue(former.until, now, until - now);
    if (!isFree) return false;
    const as = former === null ? 'leads' : former.holder === holder ? former.as : 'overtook';
    this.#leader = { holder, until, as };
    return as;
  }

  async resign(holder: string): Promise<void> {
    if (this.#leader?.holder === holder) this.#leader = null;
  }
}

export function openMemoryLeadership(): MemoryLeadership {
  return new MemoryLeadership();
}
