import type { BatchTurn, TurnWish } from '../domain/batch-turn.ts';
import { nextTurn } from '../domain/batch-turn.ts';
import type { SiteRows } from './site-rows.ts';

/** Keeps the requests of a batch apart, whichever workers send them. */
export interface BatchTurns {
  /** Takes the next turn of a batch, and answers when it is. A turn that is not used is lost. */
  take(wish: TurnWish): Promise<number>;
}

/** For the process that has the rows. */
export function composeBatchTurns(rows: SiteRows<BatchTurn>): BatchTurns {
  return {
    async take(wish) {
      const { site, name } = wish;
      const [turn] = await rows.change([{ row: { site, name }, apply: (last) => nextTurn(last, wish) }]);
      return turn?.at ?? wish.now;
    },
  };
}
