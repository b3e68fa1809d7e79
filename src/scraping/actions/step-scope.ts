import type { Recording } from '../../domain/recording/recording.ts';
import { renderTexts } from '../../domain/recording/render-step.ts';
import type { TemplateValues } from '../../domain/recording/render-template.ts';
import type { ActionEngine } from './engine.ts';
import { type Aim, frameOf, type Wanted, wantedBy } from './wanted.ts';

/** What a single step is carried out with: the engine, and the values of the item as they are now. */
export class StepScope {
  readonly engine: ActionEngine;
  readonly values: TemplateValues;
  readonly timeouts: Recording['timeouts'];
  /** The element of the innermost loop; null outside of one. */
  readonly row: Wanted | null;
  readonly now: () => number;

  constructor(parts: Pick<StepScope, 'engine' | 'values' | 'timeouts' | 'row' | 'now'>) {
    this.engine = parts.engine;
    this.values = parts.values;
    this.timeouts = parts.timeouts;
    this.row = parts.row;
    this.now = parts.now;
  }

  /** With the values in its texts. */
  render<Texts>(texts: Texts): Texts {
    return renderTexts(texts, this.values);
  }

  /** The element that a step is about; null for one about the whole page. */
  wanted(aim: Aim): Wanted | null {
    return wantedBy(aim, this.row);
  }

  /** The same for a step that always names one. */
  aimed(aim: Aim): Wanted {
    const wanted = this.wanted(aim);
    if (wanted === null) throw new Error('a step without selectors');
    return wanted;
  }

  frame(aim: Aim): Wanted['frame'] {
    return frameOf(aim) ?? this.wanted({ within: aim.within })?.frame ?? [];
  }

  timeoutMs({ timeoutMs }: { readonly timeoutMs?: number | undefined }): number {
    return timeoutMs ?? this.timeouts.stepMs;
  }

  /**
   * Looks until there is something to answer, as long as the page may change and there is time; null otherwise. The first look
   * may use what was read last.
   */
  async until<T>(
    timeoutMs: number,
    look: (view: 'fresh' | 'last') => Promise<T | null>,
    first: 'fresh' | 'last' = 'fresh',
  ): Promise<T | null> {
    const endAt = this.now() + timeoutMs;
    for (let view = first; ; view = 'fresh') {
      const seen = await look(view);
      if (seen !== null) return seen;
      // What was read last may be older than the page.
      if (view === 'last' && this.engine.kind === 'browser') continue;
      const left = endAt - this.now();
      if (left <= 0 || !(await this.engine.letChange(Math.min(POLL_MS, left)))) return null;
    }
  }
}

/** A look at a page costs a few milliseconds of the browser. */
const POLL_MS = 100;
