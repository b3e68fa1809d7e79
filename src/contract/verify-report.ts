/** The result of checking a job's results. */
export type VerifyReport =
  | { readonly kind: 'nothing'; readonly message: string }
  | {
      readonly kind: 'checked';
      readonly jobId: string;
      readonly status: string;
      readonly counts: Readonly<Record<'total' | 'success' | 'failed' | 'skipped' | 'cancelled', number>>;
      readonly checked: {
        readonly parts: number;
        readonly items: number;
        readonly artifacts: number;
        readonly bytes: number;
      };
      /** The first of them. */
      readonly problems: readonly VerifyProblem[];
      /** All of them. */
      readonly problemCount: number;
    };

interface VerifyProblem {
  /** The key of the part or artifact, or the id of the item. */
  readonly where: string;
  readonly problem: string;
}

const MAX_PROBLEMS = 100;

export class ProblemList {
  readonly #first: VerifyProblem[] = [];
  #count = 0;

  add(where: string, problem: string): void {
    this.#count += 1;
    if (this.#first.length < MAX_PROBLEMS) this.#first.push({ where, problem });
  }

  get first(): readonly VerifyProblem[] {
    return this.#first;
  }

  get count(): number {
    return this.#count;
  }
}
