import {
  FAULT_KINDS,
  type Fault,
  type FaultKind,
  type FaultPlan,
  type Latency,
  PAGE_KINDS,
  type When,
} from './faults.ts';

/** A plan that cannot be read. The message names the field. */
export class BadPlan extends Error {
  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.name = 'BadPlan';
  }
}

/**
 * Reads a plan: `{"latency":{"ms":20},"reset":{"rate":0.01},"challenge":{"from":500,"to":900}}`. Fields of every kind:
 * rate, from, to, fromMs, toMs, pages. Latency has ms, or minMs and maxMs; rateLimit has retryAfterSeconds, maintenance
 * has status (503 or 200), drip has bytes and everyMs. What is not known is refused.
 */
export function parseFaultPlan(value: unknown): FaultPlan {
  const plan = objectOf('plan', value);
  let latency: Latency | null = null;
  const faults: Fault[] = [];
  for (const [kind, settings] of Object.entries(plan)) {
    const fields = new Fields(kind, objectOf(kind, settings));
    if (kind === 'latency') latency = latencyOf(fields);
    else if (isFaultKind(kind)) faults.push(faultOf(kind, fields));
    else throw new BadPlan(kind, `is not a fault; there are latency, ${FAULT_KINDS.join(', ')}`);
    fields.refuseOthers();
  }
  return { latency, faults };
}

function latencyOf(fields: Fields): Latency {
  const ms = fields.number('ms', 0, MAX_MS, 0);
  const minMs = fields.number('minMs', 0, MAX_MS, ms);
  const maxMs = fields.number('maxMs', 0, MAX_MS, Math.max(minMs, ms));
  if (maxMs < minMs) throw new BadPlan('latency.maxMs', 'is below minMs');
  return { ...whenOf(fields), kind: 'latency', minMs, maxMs };
}

function faultOf(kind: FaultKind, fields: Fields): Fault {
  const when = whenOf(fields);
  switch (kind) {
    case 'rateLimit':
      return { ...when, kind, retryAfterSeconds: fields.number('retryAfterSeconds', 0, 86_400, 2) };
    case 'maintenance': {
      const status = fields.number('status', 200, 503, 503);
      if (status !== 200 && status !== 503) throw new BadPlan('maintenance.status', 'is neither 200 nor 503');
      return { ...when, kind, status };
    }
    case 'drip':
      return {
        ...when,
        kind,
        bytes: Math.ceil(fields.number('bytes', 1, 1 << 20, 256)),
        everyMs: fields.number('everyMs', 1, MAX_MS, 200),
      };
    default:
      return { ...when, kind };
  }
}

function whenOf(fields: Fields): When {
  return {
    rate: fields.number('rate', 0, 1, 1),
    from: fields.number('from', 0, Number.MAX_SAFE_INTEGER, 0),
    to: fields.number('to', 0, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY),
    fromMs: fields.number('fromMs', 0, Number.MAX_SAFE_INTEGER, 0),
    toMs: fields.number('toMs', 0, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY),
    pages: fields.pages(),
  };
}

/** An hour: beyond that, `timeout` is what was meant. */
const MAX_MS = 3_600_000;

class Fields {
  readonly #owner: string;
  readonly #left: Map<string, unknown>;

  constructor(owner: string, values: Readonly<Record<string, unknown>>) {
    this.#owner = owner;
    this.#left = new Map(Object.entries(values));
  }

  number(name: string, least: number, most: number, otherwise: number): number {
    const value = this.#take(name);
    if (value === undefined) return otherwise;
    if (typeof value === 'number' && value >= least && value <= most) return value;
    throw new BadPlan(`${this.#owner}.${name}`, `is not a number from ${least} to ${most}`);
  }

  pages(): When['pages'] {
    const value = this.#take('pages');
    if (value === undefined) return null;
    const known: readonly unknown[] = PAGE_KINDS;
    if (Array.isArray(value) && value.every((page) => known.includes(page))) return value;
    throw new BadPlan(`${this.#owner}.pages`, `is not a list of ${PAGE_KINDS.join(', ')}`);
  }

  refuseOthers(): void {
    for (const name of this.#left.keys()) throw new BadPlan(`${this.#owner}.${name}`, 'is not known');
  }

  #take(name: string): unknown {
    const value = this.#left.get(name);
    this.#left.delete(name);
    return value;
  }
}

function objectOf(field: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BadPlan(field, 'is not an object');
  return { ...value };
}

function isFaultKind(kind: string): kind is FaultKind {
  return (FAULT_KINDS as readonly string[]).includes(kind);
}
