import { Interrupted } from '../../contract/client/api-error.ts';
import { planPath } from '../../contract/client/api-paths.ts';
import type { PlanAnswer, PlannedAnswer } from '../../contract/plan-answers.ts';
import type { ColumnQuery } from '../client/columns.ts';
import type { Client } from '../client/command.ts';
import { CommandFailed } from '../client/command-failure.ts';
import { EXIT } from '../exit-codes.ts';
import { formatItems, printable } from '../format.ts';
import type { ItemList } from './item-list.ts';
import { sendList } from './items-upload.ts';
import { command } from './job-text.ts';
import { watchJob } from './watch-job.ts';

export interface PlanWish {
  readonly scraperId: string;
  readonly list: ItemList;
  readonly columns: ColumnQuery;
  readonly limit?: number;
  readonly policy: object | null;
  /** Null lets the server choose. */
  readonly sample: number | null;
  readonly isKept: boolean;
}

export type Planned = PlannedAnswer;

/** Sends the list, shows the progress of its sample, and returns the resulting plan, which is then deleted. */
export async function planList(client: Client, wish: PlanWish): Promise<Planned> {
  const { scraperId, list, columns, limit, policy, sample, isKept } = wish;
  const planned = await sendList<PlannedAnswer>(client, '/jobs/plan', list, {
    scraper_id: scraperId,
    ...columns,
    ...(limit === undefined ? {} : { limit }),
    ...(policy === null ? {} : { execution_policy: JSON.stringify(policy) }),
    ...(sample === null ? {} : { sample }),
    ...(isKept ? { keep: 'true' } : {}),
  });
  for (const { message } of planned.warnings) client.note(`Warning: ${printable(message)}`);
  if (planned.plan === null) return planned;
  const { plan_id: planId, sample: drawn } = planned.plan;
  client.note(`Running ${formatItems(drawn.items)} of ${formatItems(planned.inputs.items)} as a sample.`);
  await untilReady(client, planId);
  const plan = await client.api.get<PlanAnswer>(planPath(planId));
  if (!isKept) await client.api.json({ method: 'DELETE', path: planPath(planId) });
  return { ...planned, plan };
}

/** The sample is an ordinary job, and is watched like one. */
async function untilReady(client: Client, planId: string): Promise<void> {
  try {
    await watchJob(client, planId);
  } catch (error) {
    const isInterrupted =
      error instanceof Interrupted || (error instanceof CommandFailed && error.exitCode === EXIT.interrupted);
    if (!isInterrupted) throw error;
    throw new CommandFailed(
      `interrupted; the sample continues and is deleted after a day. To end and delete it now:\n  ` +
        command(['jobs', 'cancel', planId]),
      EXIT.interrupted,
    );
  }
}
