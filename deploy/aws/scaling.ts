import { Duration } from 'aws-cdk-lib';
import { AdjustmentType, MetricAggregationType } from 'aws-cdk-lib/aws-applicationautoscaling';
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { FargateService } from 'aws-cdk-lib/aws-ecs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';

/**
 * As many tasks as the queue has work for: none while it is empty, and then one for every `slots` batches, which is what
 * one task carries out at the same time. So each task has the same backlog, whatever their number.
 *
 * The number is set, not changed: a policy that adds tasks while the backlog per task is high needs to know how many run,
 * which CloudWatch learns minutes after they started, and not at all while there are none. It would add too many, and
 * might never begin. What is in flight counts too, or the tasks that are at work would be taken away.
 */
export function scaleByBacklog(service: FargateService, queue: Queue, to: { maxTasks: number; slots: number }): void {
  const target = service.autoScaleTaskCount({ minCapacity: 0, maxCapacity: to.maxTasks });
  target.scaleOnMetric('Backlog', {
    metric: backlogOf(queue),
    scalingSteps: capacitySteps(to.maxTasks, to.slots),
    adjustmentType: AdjustmentType.EXACT_CAPACITY,
    metricAggregationType: MetricAggregationType.MAXIMUM,
    evaluationPeriods: 1,
    // More are started at once; fewer only after this, because the next job may be about to begin.
    cooldown: Duration.minutes(5),
  });
}

/**
 * Batches in the queue, waiting or at work. SQS tells this every minute of a queue that somebody uses, and of one that
 * was not used for six hours up to a quarter of an hour late; the leader asks each queue for its depth once a minute,
 * which is use enough.
 */
export function backlogOf(queue: Queue): IMetric {
  const period = Duration.minutes(1);
  return new MathExpression({
    expression: 'waiting + delivered',
    usingMetrics: {
      waiting: queue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }),
      delivered: queue.metricApproximateNumberOfMessagesNotVisible({ period, statistic: 'Maximum' }),
    },
    label: 'batches, waiting or at work',
    period,
  });
}

/**
 * From which backlog on how many tasks. Numbers of tasks grow by a third to a half, because a policy has at most twenty
 * steps. Between two whole numbers there is a border that no backlog lies on: there, two alarms would disagree.
 */
export function capacitySteps(maxTasks: number, slots: number) {
  const levels = [...taskLevels(maxTasks)];
  const borders = levels.map((_, index) => (levels[index - 1] ?? 0) * slots + 0.5);
  const steps = levels.map((tasks, index) => {
    const upper = borders[index + 1];
    return { lower: borders[index] ?? 0, ...(upper === undefined ? {} : { upper }), change: tasks };
  });
  return [{ lower: 0, upper: 0.5, change: 0 }, ...steps];
}

/** 1, 2, 3, 4, 6, 8, 12, 16 … and the most there may be. */
function* taskLevels(maxTasks: number): Generator<number> {
  if (maxTasks > 1) yield 1;
  for (let power = 2; power < maxTasks; power *= 2) {
    yield power;
    if (power * 1.5 < maxTasks) yield power * 1.5;
  }
  yield maxTasks;
}
