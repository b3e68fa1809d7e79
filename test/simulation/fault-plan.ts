import { Dice } from './dice.ts';

/**
 * What goes wrong in a run. Not everything goes wrong everywhere: a seed draws a few kinds, each at its own rate,
 * and some seeds nearly none, because a world in which all goes wrong at once hides what a single fault would show.
 */
export const FAULT_KINDS = [
  'worker-crash-at-point',
  'worker-crash-any-moment',
  'worker-stall',
  'worker-drain',
  'controller-crash-at-point',
  'controller-crash-any-moment',
  'controller-stall',
  'controller-restart',
  'machine-crash',
  'message-lost',
  'message-duplicated',
  'message-late',
  'message-reordered',
  'send-refused',
  'send-error',
  'receive-lost',
  'ack-lost',
  'extend-lost',
  'request-lost',
  'request-repeated',
  'reply-lost',
  'reply-lost-repeated',
  'slow-call',
  'hint-lost',
  'heartbeat-lost',
  'renew-hangs',
  'clock-skew',
  'clock-jump',
  'clock-forward',
  'clock-back',
  'store-slow',
  'store-trouble',
  'store-error',
  'store-key-taken',
  'own-error',
  'disk-full',
  'user-pause',
  'user-resume',
  'user-cancel',
  'user-retry',
  'user-policy',
  'user-items',
  'user-import-dies',
  'user-create-dies',
  'user-removes-job',
  'user-removes-twice',
  'removal-slow',
  'user-replaces-results',
  'user-extracts',
  'poison',
  'site-hangs',
  'user-corrects',
  'site-forgets',
] as const;

const CLOCK_FAULTS = ['clock-skew', 'clock-jump', 'clock-forward', 'clock-back'] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** How often each fault happened, over one run or many. A kind that never occurs is a gap in the simulation. */
export type Census = Map<string, number>;

export class FaultPlan {
  readonly #rates = new Map<FaultKind, number>();
  readonly #dice: Dice;
  readonly census: Census;
  #isOff = false;

  /** With `only`, that kind occurs wherever it can, and no other does. */
  constructor(seed: number, census: Census, only: FaultKind | null = null) {
    this.#dice = new Dice(seed, 'faults');
    this.census = census;
    if (only !== null) {
      this.#rates.set(only, 1);
      return;
    }
    const share = this.#dice.pick([0, 0.05, 0.15, 0.3, 0.3, 0.6]);
    for (const kind of FAULT_KINDS) {
      const isOn = this.#dice.happens(share);
      const rate = this.#dice.logBetween(0.005, 0.15);
      if (isOn) this.#rates.set(kind, rate);
    }
    // A run without any fault at all shows little; one kind by itself shows most clearly what it does.
    if (share === 0 && this.#dice.happens(0.8)) this.#rates.set(this.#dice.pick(FAULT_KINDS), 0.1);
    // Which items were not found since a good control depends on the workers' clocks.
    if (this.#rates.has('site-forgets')) for (const kind of CLOCK_FAULTS) this.#rates.delete(kind);
  }

  /** Faults that have begun run out; no new ones begin. */
  stop(): void {
    this.#isOff = true;
  }

  get isOff(): boolean {
    return this.#isOff;
  }

  isOn(kind: FaultKind): boolean {
    return !this.#isOff && this.#rates.has(kind);
  }

  /** Whether all clocks of this world are right, from the beginning to the end. */
  get hasRightClocks(): boolean {
    return CLOCK_FAULTS.every((kind) => !this.#rates.has(kind));
  }

  /** Whether this fault strikes now, at an occasion that comes up often; counts it if so. */
  strikes(kind: FaultKind, weight = 1): boolean {
    if (this.#isOff) return false;
    const rate = this.#rates.get(kind);
    if (rate === undefined || !this.#dice.happens(Math.min(0.9, rate * weight))) return false;
    this.count(kind);
    return true;
  }

  count(kind: string): void {
    this.census.set(kind, (this.census.get(kind) ?? 0) + 1);
  }

  kinds(): string[] {
    return [...this.#rates].map(([kind, rate]) => `${kind} ${rate.toFixed(3)}`);
  }
}
