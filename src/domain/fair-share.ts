/** How much one process would use of a line for one job. */
export interface Wish {
  readonly process: string;
  readonly job: string;
  /** The job's weight; jobs with the same weight have equal shares. */
  readonly weight: number;
  readonly amount: number;
}

/**
 * Divides a capacity among jobs by weight; what a job does not need goes to the others. A job's share is divided among
 * its processes in proportion to what they would use. Returns the shares in the order of the wishes.
 */
export function fairShares(capacity: number, wishes: readonly Wish[]): readonly number[] {
  const jobs = new Map<string, { weight: number; amount: number }>();
  for (const { job, weight, amount } of wishes) {
    const known = jobs.get(job);
    if (known === undefined) jobs.set(job, { weight, amount });
    else {
      known.weight = Math.max(known.weight, weight);
      known.amount += amount;
    }
  }
  const factors = new Map<string, number>();
  const byNeed = [...jobs].sort(([, a], [, b]) => a.amount / a.weight - b.amount / b.weight);
  let left = capacity;
  let weights = byNeed.reduce((sum, [, { weight }]) => sum + weight, 0);
  for (const [job, { weight, amount }] of byNeed) {
    const part = Math.min(amount, weights > 0 ? (left * weight) / weights : 0);
    factors.set(job, amount > 0 ? part / amount : 0);
    left -= part;
    weights -= weight;
  }
  return wishes.map(({ job, amount }) => amount * (factors.get(job) ?? 0));
}
