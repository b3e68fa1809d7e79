import { LIMITS } from '../limits.ts';
import type { WrittenRecording } from '../recording.ts';
import { parseSelector } from '../selector.ts';
import { STEP, type Step } from '../step.ts';

/** Something about one entry of the imported file: `entry 4 (keyUp)`. */
export interface ImportNote {
  readonly entry: string;
  readonly message: string;
}

/** What an importer makes: the steps, and what it has to say about them. */
export interface ConvertedSteps {
  readonly title: string | null;
  readonly steps: readonly Step[];
  readonly sequences: Readonly<Record<string, readonly Step[]>>;
  readonly viewport: WrittenRecording['viewport'];
  readonly stepMs: number | null;
  /** Entries of the file that became steps. */
  readonly converted: number;
  readonly changed: readonly ImportNote[];
  readonly lost: readonly ImportNote[];
}

type WrittenStep = Readonly<Record<string, unknown>>;

/** Collects the steps of one list. Each is checked as it comes, so that what cannot be a step is a loss with its reason. */
export class StepWriter {
  readonly #steps: Step[] = [];
  readonly #changed: ImportNote[] = [];
  readonly #lost: ImportNote[] = [];
  #entry = '';
  #wrote = false;
  #converted = 0;

  /** The entry that everything is about until the next call. */
  begin(number: number, kind: string): void {
    this.#finish();
    this.#entry = `entry ${number} (${kind.slice(0, 60)})`;
  }

  write(step: WrittenStep) {
    const parsed = STEP.safeParse(withoutUndefined(step));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const message = issue?.message.endsWith('received undefined') ? 'is missing' : (issue?.message ?? '');
      return this.lose(`cannot be a step: ${issue?.path.join('.') ?? ''} ${message}`.trim());
    }
    this.#steps.push(parsed.data);
    this.#wrote = true;
  }

  /** For what is recorded after the step that it must come before, such as the answer to a dialog. */
  writeBeforeLast(step: WrittenStep): void {
    const last = this.#steps.pop();
    this.write(step);
    if (last !== undefined) this.#steps.push(last);
  }

  /** The last step, for what belongs to it; null before the first. */
  get last(): Step | null {
    return this.#steps.at(-1) ?? null;
  }

  replaceLast(step: WrittenStep): void {
    this.#steps.pop();
    this.write(step);
  }

  /** Counts an entry as converted that adds no step of its own. */
  accept(): void {
    this.#wrote = true;
  }

  change(message: string): void {
    this.#changed.push({ entry: this.#entry, message });
    this.#wrote = true;
  }

  lose(message: string): void {
    this.#lost.push({ entry: this.#entry, message });
  }

  end(): Pick<ConvertedSteps, 'steps' | 'converted' | 'changed' | 'lost'> {
    this.#finish();
    return { steps: this.#steps, converted: this.#converted, changed: this.#changed, lost: this.#lost };
  }

  #finish(): void {
    if (this.#wrote) this.#converted += 1;
    this.#wrote = false;
  }
}

/** The selectors that can be used, at most as many as a step may have. Null if there are none. */
export function keepReadable(writer: StepWriter, alternatives: readonly (string | readonly string[])[]) {
  const kept: (string | string[])[] = [];
  for (const alternative of alternatives) {
    const parts = typeof alternative === 'string' ? [alternative] : [...alternative];
    const problem = findProblem(parts);
    if (problem !== null) writer.lose(`a selector was left out: ${problem}`);
    else kept.push(parts.length === 1 ? (parts[0] ?? '') : parts);
  }
  const different = kept.filter(
    (one, at) => kept.findIndex((other) => JSON.stringify(other) === JSON.stringify(one)) === at,
  );
  if (different.length > LIMITS.alternatives) writer.change(`only the first ${LIMITS.alternatives} selectors are kept`);
  return different.length === 0 ? null : different.slice(0, LIMITS.alternatives);
}

function findProblem(parts: readonly string[]): string | null {
  if (parts.length === 0) return 'it is empty';
  for (const part of parts) {
    if (part.length > LIMITS.selector) return `it is longer than ${LIMITS.selector} characters`;
    try {
      parseSelector(part);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return null;
}

/** A text of the file as a template that says the same: braces in it are not placeholders. */
export function asLiteral(text: string): string {
  return text.replaceAll('{{', '\\{{');
}

export function limitTimeout(writer: StepWriter, ms: unknown): number | undefined {
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms <= 0) return undefined;
  if (ms <= LIMITS.timeoutMs) return Math.round(ms);
  writer.change(`the timeout of ${ms} ms is shortened to ${LIMITS.timeoutMs} ms`);
  return LIMITS.timeoutMs;
}

function withoutUndefined(step: WrittenStep): WrittenStep {
  return Object.fromEntries(Object.entries(step).filter(([, value]) => value !== undefined));
}
