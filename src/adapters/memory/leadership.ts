import type { Leadership } from '../../ports/leadership.ts';

export class MemoryLeadership implements Leadership {
  #leader: { readonly holder: string; readonly until: number } | null = null;

  async lead(holder: string, until: number, now: number): Promise<boolean> {
    const isFree = this.#leader === null || this.#leader.holder === holder || this.#leader.until <= now;
    if (isFree) this.#leader = { holder, until };
    return isFree;
  }

  async resign(holder: string): Promise<void> {
    if (this.#leader?.holder === holder) this.#leader = null;
  }
}

export function openMemoryLeadership(): MemoryLeadership {
  return new MemoryLeadership();
}
