import {
  type AdjustmentTier,
  AdjustmentType,
  MetricAggregationType,
  type ScalableTarget,
  StepScalingAction,
} from 'aws-cdk-lib/aws-applicationautoscaling';
import { Alarm, ComparisonOperator, type IMetric, MathExpression, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { ApplicationScalingAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { FargateService } from 'aws-cdk-lib/aws-ecs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Duration } from 'aws-cdk-lib/core';

/** From one batch on there is work. Each of the two alarms begins where the other ends, and they never hold at once. */
const WORK = 1;

/** For so long there must be nothing before the last tasks go: the next job may be about to begin. */
const IDLE_MINUTES = 5;

/**
 * As many tasks as the queue has work for: none while it is empty, and then one for every `slots` batches, which is what
 * one task carries out at the same time. So each task has the same backlog, whatever their number.
 *
 * That there is work, and that there is none any more, are alarms of their own, so that the first task does not wait for
 * an alarm that is on already to repeat what it does. `scaleOnMetric` would put the border between its two alarms into the
 * middle of the steps, and a small job would begin on the side where an empty queue is.
 *
 * The number is set, not changed: a policy that adds tasks while the backlog per task is high needs to know how many run,
 * which CloudWatch learns minutes after they started, and not at all while there are none. It would add too many, and
 * might never begin. What is in flight counts too, or the tasks that are at work would be taken away.
 */
export function scaleByBacklog(service: FargateService, queue: Queue, to: { maxTasks: number; slots: number }): void {
  const tasks = service.autoScaleTaskCount({ minCapacity: 0, maxCapacity: to.maxTasks });
  // What the two policies act on; the CDK keeps it to itself.
  const scalingTarget = tasks.node.findChild('Target') as ScalableTarget;
  const policy = {
    scalingTarget,
    adjustmentType: AdjustmentType.EXACT_CAPACITY,
    metricAggregationType: MetricAggregationType.MAXIMUM,
  };
  const byBacklog = new StepScalingAction(tasks, 'ByBacklog', {
    ...policy,
    // More are started at once; fewer only after this.
    cooldown: Duration.minutes(IDLE_MINUTES),
  });
  for (const step of capacitySteps(to.maxTasks, to.slots)) byBacklog.addAdjustment(step);
  const toNone = new StepScalingAction(tasks, 'ToNone', policy);
  toNone.addAdjustment({ upperBound: 0, adjustment: 0 });

  // For both, missing data change nothing: neither starts tasks, nor stops those that are working.
  const alarm = { metric: backlogOf(queue), threshold: WORK, treatMissingData: TreatMissingData.MISSING };
  new Alarm(tasks, 'Work', {
    ...alarm,
    alarmDescription: 'There is work: starts tasks, and goes on to set their number. No trouble.',
    comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    evaluationPeriods: 1,
  }).addAlarmAction(new ApplicationScalingAction(byBacklog));
  new Alarm(tasks, 'NoWork', {
    ...alarm,
    alarmDescription: 'There is no work: the last tasks go. No trouble.',
    comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
    evaluationPeriods: IDLE_MINUTES,
  }).addAlarmAction(new ApplicationScalingAction(toNone));
}

/**
 * Batches in the queue, waiting or in progress. SQS reports this every minute for a queue in use, and up to a quarter of an
 * hour late for one that was not used for six hours; the leader asks each queue for its depth once a minute, which counts
 * as use.
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
 * From which backlog on how many tasks, counted from the first batch, as a policy has it: the lower bound is in a step, the
 * upper is not. Numbers of tasks grow by a third to a half, because a policy has at most twenty steps.
 */
export function capacitySteps(maxTasks: number, slots: number): readonly AdjustmentTier[] {
  const levels = [...taskLevels(maxTasks)];
  return levels.map((adjustment, index) => {
    const lowerBound = (levels[index - 1] ?? 0) * slots;
    return index === levels.length - 1
      ? { lowerBound, adjustment }
      : { lowerBound, upperBound: adjustment * slots, adjustment };
  });
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
