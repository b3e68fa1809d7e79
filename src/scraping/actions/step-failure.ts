import { type Failure, type FailureType, failure } from '../../domain/failure.ts';
import { describeStep } from '../../domain/recording/describe-step.ts';
import type { Step } from '../../domain/recording/step.ts';
import { TemplateError } from '../../domain/recording/template.ts';
import { Disallowed } from '../robots/disallowed.ts';
import { ScrapeFailure } from '../scrape-failure.ts';
import { type ActionEngine, NeedsBrowser, NoMatch } from './engine.ts';

/** A failure that names its step: `step 4, click "Search": none of 3 selectors matched; the page says "No records found"`. */
export class StepFailure extends ScrapeFailure {
  /** `4`, or `4.then.2`. */
  readonly path: string;
  readonly step: Step;
  /** What a page without scripts cannot do; null if that is not why it failed. */
  readonly needsBrowser: string | null;

  constructor(path: string, step: Step, what: Failure, needsBrowser: string | null = null) {
    const { type, message, cause, retryAfterMs, page = null } = what;
    const label = labelOf(step);
    const more = { cause, retryAfterMs, page, step: { path, label } };
    super(failure(type, `step ${path}, ${label}: ${message}`, more));
    this.path = path;
    this.step = step;
    this.needsBrowser = needsBrowser;
  }
}

function labelOf(step: Step): string {
  // What it says follows.
  return step.type === 'stop' ? 'stop' : describeStep(step);
}

/** What the work of a step threw, as a failure of the step. Bugs stay what they are. */
export async function explainFailure(error: unknown, path: string, step: Step, engine: ActionEngine): Promise<unknown> {
  if (error instanceof StepFailure || error instanceof Disallowed) return error;
  if (error instanceof NoMatch) return new StepFailure(path, step, await explainNoMatch(error, engine));
  if (error instanceof NeedsBrowser) {
    const message = `${error.message}: it needs a browser`;
    return new StepFailure(path, step, failure('structure_changed', message), error.message);
  }
  if (error instanceof TemplateError) {
    const type = error.message.includes('{{input.') ? 'invalid_input' : 'structure_changed';
    return new StepFailure(path, step, failure(type, error.message));
  }
  return error instanceof ScrapeFailure ? new StepFailure(path, step, error.failure) : error;
}

async function explainNoMatch({ message }: NoMatch, engine: ActionEngine): Promise<Failure> {
  const absence = await engine.explainAbsence();
  if (absence === null) return failure('structure_changed', `${message} (${engine.url()})`);
  const said = absence.said.replace(/^the site says/, 'the page says');
  return failure(absence.type, `${message}; ${said}${absence.isGuess ? ' among much else' : ''} (${engine.url()})`);
}

/** Whether a page may be the reason, and another look at it may help. */
export function isRecoverable({ failure: { type }, needsBrowser }: StepFailure): boolean {
  return needsBrowser === null && (type === 'structure_changed' || type === 'navigation_failed' || type === 'timeout');
}

/** Failures after which a `try` goes on with its `otherwise`: of the page, not of the way there. */
export function isOfPage(type: FailureType): boolean {
  return OF_PAGE.has(type);
}

const OF_PAGE: ReadonlySet<FailureType> = new Set([
  ...(['structure_changed', 'navigation_failed', 'no_results', 'not_found', 'timeout'] as const),
]);
