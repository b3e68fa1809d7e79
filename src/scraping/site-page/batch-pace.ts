import { turnName } from '../../domain/batch-turn.ts';
import type { HostGate } from '../../ports/host-gate.ts';
import type { BatchScope } from '../batch-scope.ts';
import type { ScrapeContext, ScrapeTools } from '../scraper.ts';
import type { PageInput } from './page-input.ts';

const PACE = Symbol('pace');

type PacedContext = Pick<ScrapeContext, 'now' | 'sleep' | 'tools' | 'jobId'> & { readonly input: PageInput };

/** A wait at a host's gate up to this share of the delay is part of any request; after a longer one, the turn is over. */
const PART_OF_A_TURN = 0.1;

/** A host whose gate is always crowded must be asked at some time. */
const MAX_ROUNDS = 3;

/**
 * Keeps the requests of a batch apart. Pages that need none, because they are cached, do not wait. The end of the last
 * request is remembered here. What other workers sent, because they had the batch before or have another piece of it, is
 * known from its turns, which all workers share.
 */
export class BatchPace {
  #endedAt: number | null = null;

  static of(batch: BatchScope): BatchPace {
    return batch.keep(PACE, () => new BatchPace());
  }

  /** Sends a request when it is its turn. */
  async send<T>(context: PacedContext, request: () => Promise<T>): Promise<T> {
    await this.#waitForTurn(context);
    try {
      return await request();
    } finally {
      this.#endedAt = context.now();
    }
  }

  /** Tools whose requests are all paced, also redirects, repeated ones and the robots.txt of a host. */
  tools(context: PacedContext): ScrapeTools {
    const { tools, input } = context;
    if (input.delay_ms === 0) return tools;
    return { ...tools, ...this.robots(context), gate: this.#gate(context, tools.gate) };
  }

  /** Only that of robots.txt: a page in a browser is one request to us, with all that it loads. */
  robots(context: PacedContext): Pick<ScrapeTools, 'robots'> {
    const { robots } = context.tools;
    if (context.input.delay_ms === 0) return { robots };
    const pace = (gate: HostGate) => this.#gate(context, gate);
    return { robots: { check: (url, visitor, signal) => robots.check(url, { ...visitor, pace }, signal) } };
  }

  #gate(context: PacedContext, gate: HostGate): HostGate {
    const slackMs = context.input.delay_ms * PART_OF_A_TURN;
    return {
      enter: async (host, patienceMs, signal) => {
        for (let round = 1; ; round += 1) {
          await this.#waitForTurn(context);
          const begunAt = context.now();
          const leave = await gate.enter(host, patienceMs, signal);
          if (context.now() - begunAt <= slackMs || round === MAX_ROUNDS) {
            return () => {
              this.#endedAt = context.now();
              leave();
            };
          }
          leave();
        }
      },
      hold: (host, ms, why) => gate.hold(host, ms, why),
      noteTrouble: (host) => gate.noteTrouble(host),
      noteAnswer: (host, answer, why) => gate.noteAnswer(host, answer, why),
      pauseOf: (host) => gate.pauseOf(host),
      takeRetry: (host) => gate.takeRetry(host),
    };
  }

  async #waitForTurn({ now, sleep, tools, jobId, input }: PacedContext): Promise<void> {
    const { delay_ms: delayMs, site, batch } = input;
    if (delayMs === 0) return;
    // A clock that was set back must not make it longer than it is to be.
    const passed = this.#endedAt === null ? delayMs : Math.max(0, now() - this.#endedAt);
    if (passed < delayMs) await sleep(delayMs - passed);
    if (site === undefined || batch === undefined || tools.siteTools === null) return;
    const wish = { site, name: turnName(jobId, batch), delayMs, now: now() };
    const at = await tools.siteTools.batchTurns.take(wish);
    const waitMs = at - now();
    if (waitMs > 0) await sleep(waitMs);
  }
}
