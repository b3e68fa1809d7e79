import { failure } from '../../domain/failure.ts';
import { LIMITS } from '../../domain/recording/limits.ts';
import type { Recording } from '../../domain/recording/recording.ts';
import { renderStep } from '../../domain/recording/render-step.ts';
import type { TemplateValues } from '../../domain/recording/render-template.ts';
import type { ForEachStep, RepeatStep, SimpleStep, Step, StopStep, TryStep } from '../../domain/recording/step.ts';
import type { StepPause } from '../../domain/recording/step-pause.ts';
import { hasPlaceholder } from '../../domain/recording/template.ts';
import type { WholePage } from '../extract/whole-page.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import { holds } from './check-condition.ts';
import { doStep } from './do-step.ts';
import type { ActionEngine } from './engine.ts';
import { keepStep } from './keep-step.ts';
import type { KeptBytes } from './kept-bytes.ts';
import { readStep } from './read-step.ts';
import { Records } from './records.ts';
import { explainFailure, isOfPage, isRecoverable, StepFailure } from './step-failure.ts';
import type { StepReport } from './step-report.ts';
import { StepScope } from './step-scope.ts';
import type { Wanted } from './wanted.ts';

export interface InterpreterDeps {
  readonly recording: Recording;
  readonly engine: ActionEngine;
  readonly input: Readonly<Record<string, unknown>>;
  readonly kept: KeptBytes;
  readonly report: StepReport;
  /** Whether the operator lets recordings run expressions in pages. */
  readonly allowsScripts: boolean;
  /** Asked about a step that failed; null if nobody watches. */
  readonly pause: StepPause | null;
  now(): number;
}

export interface Carried {
  readonly data: Readonly<Record<string, unknown>>;
  /** The page that values were read from last; null if there was none. */
  readonly page: WholePage | null;
}

type Flow = 'on' | 'stop';

/** The loop that steps are in. */
interface Loop {
  readonly row: Wanted | null;
  readonly index: number;
}

/**
 * Carries a recording out for one item, on any engine: control flow, values, limits and recovery are here, single actions
 * are the engine's. Nothing in a recording is evaluated; its texts are looked up and compared.
 */
export class Interpreter {
  readonly #deps: InterpreterDeps;
  readonly #records = new Records();
  readonly #vars: Record<string, unknown> = Object.create(null);
  #executed = 0;
  /** How many `try` steps we are in: a failure there is expected. */
  #tries = 0;
  #page: WholePage | null = null;

  constructor(deps: InterpreterDeps) {
    this.#deps = deps;
  }

  /** Throws a StepFailure, which names the step. */
  async run(): Promise<Carried> {
    const { recording } = this.#deps;
    await this.#steps(recording.steps, '', null);
    await this.#checkEnd();
    return { data: this.#records.data, page: this.#page };
  }

  async #steps(steps: readonly Step[], prefix: string, loop: Loop | null): Promise<Flow> {
    for (const [index, step] of steps.entries()) {
      const flow = await this.#step(step, `${prefix}${index + 1}`, loop);
      if (flow === 'stop') return flow;
    }
    return 'on';
  }

  async #step(step: Step, path: string, loop: Loop | null): Promise<Flow> {
    this.#executed += 1;
    if (this.#executed > LIMITS.executedSteps) {
      const message = `more than ${LIMITS.executedSteps} steps were carried out`;
      throw new StepFailure(path, step, failure('structure_changed', message));
    }
    switch (step.type) {
      case 'if': {
        const isSo = await this.#named(step, path, loop, (scope) => holds(step.condition, scope));
        return isSo
          ? this.#steps(step.then, `${path}.then.`, loop)
          : this.#steps(step.else ?? [], `${path}.else.`, loop);
      }
      case 'forEach':
        return this.#forEach(step, path, loop);
      case 'repeat':
        return this.#repeat(step, path, loop);
      case 'try':
        return this.#try(step, path, loop);
      case 'call':
        return this.#steps(this.#deps.recording.sequences[step.sequence] ?? [], `${step.sequence}.`, loop);
      case 'stop':
        return this.#stop(step, path, loop);
      default:
        await this.#simple(step, path, loop);
        return 'on';
    }
  }

  async #forEach(step: ForEachStep, path: string, loop: Loop | null): Promise<Flow> {
    const { now, report } = this.#deps;
    const startedAt = now();
    const { found, rows, matched } = await this.#named(step, path, loop, async (scope) => {
      const wanted = scope.aimed(this.#rendered(step, loop));
      const seen = await scope.until(scope.timeoutMs(step), async (view) => {
        const sight = await scope.engine.look(wanted, view);
        return sight.alternative === null ? null : sight;
      });
      const alternative = seen?.alternative ?? 0;
      // In later rounds, too, rows are those of the alternative that matched first.
      return {
        found: { ...wanted, alternatives: wanted.alternatives.slice(alternative, alternative + 1) },
        rows: seen?.elements.length ?? 0,
        matched: seen?.alternative ?? null,
      };
    });
    report.note(path, step, now() - startedAt, matched);
    return this.#rounds(step.field, Math.min(rows, step.max), (index) =>
      this.#steps(step.steps, `${path}.steps.`, { row: { ...found, nth: index }, index }),
    );
  }

  async #repeat(step: RepeatStep, path: string, loop: Loop | null): Promise<Flow> {
    let isOver = false;
    const flow = await this.#rounds(step.field, step.max, async (index) => {
      const inner = { row: loop?.row ?? null, index };
      const end = await this.#steps(step.steps, `${path}.steps.`, inner);
      if (end === 'stop') return end;
      isOver = await this.#named(step, path, inner, (scope) => holds(step.until, scope));
      return isOver ? 'over' : 'on';
    });
    if (isOver || flow === 'stop') return flow;
    throw new StepFailure(path, step, failure('structure_changed', `it is not so after ${step.max} rounds`));
  }

  async #rounds(
    field: string | undefined,
    most: number,
    round: (index: number) => Promise<Flow | 'over'>,
  ): Promise<Flow> {
    const end = field === undefined ? null : this.#records.openList(field);
    try {
      for (let index = 0; index < most; index += 1) {
        if (field !== undefined) this.#records.openRecord();
        const flow = await round(index);
        if (field !== undefined) this.#records.closeRecord();
        if (flow !== 'on') return flow === 'stop' ? 'stop' : 'on';
      }
      return 'on';
    } finally {
      end?.();
    }
  }

  async #try(step: TryStep, path: string, loop: Loop | null): Promise<Flow> {
    const depth = this.#records.depth;
    try {
      return await this.#expectingFailure(() => this.#steps(step.steps, `${path}.steps.`, loop));
    } catch (error) {
      if (!(error instanceof StepFailure) || !isOfPage(error.failure.type)) throw error;
      this.#records.returnTo(depth);
      return this.#steps(step.otherwise ?? [], `${path}.otherwise.`, loop);
    }
  }

  async #expectingFailure<T>(work: () => Promise<T>): Promise<T> {
    this.#tries += 1;
    try {
      return await work();
    } finally {
      this.#tries -= 1;
    }
  }

  #stop(step: StopStep, path: string, loop: Loop | null): Flow {
    if (step.outcome === 'done') return 'stop';
    const { message } = this.#rendered(step, loop);
    throw new StepFailure(path, step, failure(step.outcome, message ?? `the page means ${step.outcome}`));
  }

  async #simple(step: SimpleStep, path: string, loop: Loop | null): Promise<void> {
    const { now, report } = this.#deps;
    const startedAt = now();
    let alternative: number | null = null;
    try {
      alternative = await this.#pausing(step, path, loop);
    } finally {
      report.note(path, step, now() - startedAt, alternative);
    }
  }

  /** Asks what to do about a failure, if someone watches. */
  async #pausing(step: SimpleStep, path: string, loop: Loop | null): Promise<number | null> {
    const { pause } = this.#deps;
    for (;;) {
      try {
        return await this.#recovering(step, path, loop);
      } catch (error) {
        if (pause === null || this.#tries > 0 || !(error instanceof StepFailure)) throw error;
        const answer = await pause({ path: error.path, message: error.message });
        if (answer === 'quit') throw error;
        if (answer === 'skip') return null;
      }
    }
  }

  /** Tries again as the recording says: the step alone, then after a reload. */
  async #recovering(step: SimpleStep, path: string, loop: Loop | null): Promise<number | null> {
    const { recording, engine } = this.#deps;
    const { retryStep, reload } = recording.recovery;
    // A page that cannot change by itself shows the same to the same step.
    const retries = engine.kind === 'browser' && REPEATABLE.has(step.type) ? retryStep : 0;
    for (let tried = 0; ; tried += 1) {
      try {
        return await this.#named(step, path, loop, (scope) => this.#carryOut(this.#rendered(step, loop), scope));
      } catch (error) {
        if (!(error instanceof StepFailure) || !isRecoverable(error) || tried >= retries + reload) throw error;
        if (tried >= retries) {
          await this.#named(step, path, loop, (scope) => scope.engine.go('reload', scope.timeouts.navigationMs));
        }
      }
    }
  }

  async #carryOut(step: SimpleStep, scope: StepScope): Promise<number | null> {
    switch (step.type) {
      case 'extractText':
      case 'extractAttribute':
      case 'extractValue':
      case 'extractHtml':
      case 'extractNumber':
      case 'extractMoney':
      case 'extractDate':
      case 'extractTable':
      case 'extractRecords':
      case 'extractJson': {
        const { value, alternative, page } = await readStep(step, scope);
        this.#page = page ?? this.#page;
        if (step.type === 'extractHtml' && step.keepAs !== undefined && typeof value === 'string') {
          this.#deps.kept.pages.set(step.keepAs, value);
        }
        this.#keep(step, value);
        return alternative;
      }
      case 'screenshot':
      case 'pdf':
      case 'download':
      case 'upload': {
        const { fact, alternative } = await keepStep(step, scope, this.#deps.kept, this.#records.data);
        if ('field' in step) this.#keep(step, fact);
        return alternative;
      }
      default:
        return doStep(step, scope, this.#deps.allowsScripts);
    }
  }

  #keep({ field, variable }: { field?: string | undefined; variable?: string | undefined }, value: unknown): void {
    if (field !== undefined) this.#records.set(field, value);
    if (variable !== undefined) this.#vars[variable] = value;
  }

  async #checkEnd(): Promise<void> {
    const { recording, engine } = this.#deps;
    for (const { condition, failure: type, message } of recording.expect) {
      const scope = this.#scope(null);
      const isSo = await scope.until(recording.timeouts.stepMs, async () =>
        (await holds(condition, scope)) ? true : null,
      );
      if (isSo === null) {
        throw new ScrapeFailure(
          failure(type, `at the end: ${message ?? 'what the recording expects does not hold'} (${engine.url()})`),
        );
      }
    }
  }

  /** What the work throws, as a failure that names the step. */
  async #named<T>(step: Step, path: string, loop: Loop | null, work: (scope: StepScope) => Promise<T>): Promise<T> {
    const scope = this.#scope(loop);
    try {
      return await work(scope);
    } catch (error) {
      throw await explainFailure(error, path, step, this.#deps.engine);
    }
  }

  #scope(loop: Loop | null): StepScope {
    const { engine, recording, now } = this.#deps;
    return new StepScope({
      engine,
      values: this.#values(loop),
      timeouts: recording.timeouts,
      row: loop?.row ?? null,
      now,
    });
  }

  #values(loop: Loop | null): TemplateValues {
    const row = loop === null ? {} : { row: { index: loop.index, number: loop.index + 1 } };
    return { input: this.#deps.input, vars: this.#vars, ...row };
  }

  #rendered<Kind extends Step>(step: Kind, loop: Loop | null): Kind {
    return isPlain(step) ? step : renderStep(step, this.#values(loop));
  }
}

/** Doing them twice does no harm: nothing was done if they failed, or the same is done again. */
const REPEATABLE: ReadonlySet<Step['type']> = new Set([
  ...(['click', 'doubleClick', 'hover', 'fill', 'clear', 'select', 'check', 'uncheck', 'press', 'scroll'] as const),
  ...(['drag', 'upload', 'switchTab', 'download', 'screenshot', 'pdf'] as const),
]);

const PLAIN = new WeakMap<Step, boolean>();

/** Whether a step is the same for every item. */
function isPlain(step: Step): boolean {
  const known = PLAIN.get(step);
  if (known !== undefined) return known;
  const isSo = !hasPlaceholder(JSON.stringify(step));
  PLAIN.set(step, isSo);
  return isSo;
}
