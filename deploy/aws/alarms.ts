import {
  type Alarm,
  ComparisonOperator,
  type CreateAlarmOptions,
  MathExpression,
  type Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Duration, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { LANES } from '../../src/domain/lane.ts';
import type { ControllerService } from './controller-service.ts';
import type { TrawlMetrics } from './metrics.ts';
import type { LaneQueue, Queues } from './queues.ts';
import type { Settings } from './settings.ts';

interface AlarmDeps {
  readonly metrics: TrawlMetrics;
  readonly queues: Queues;
  readonly controller: ControllerService;
  readonly settings: Settings;
}

/** What an operator should look at, each with what to do about it. All of them go to one topic. */
export class Alarms extends Construct {
  readonly topic: Topic;
  readonly all: readonly Alarm[];

  constructor(scope: Construct, id: string, { metrics, queues, controller, settings }: AlarmDeps) {
    super(scope, id);
    this.topic = new Topic(this, 'Topic', { enforceSSL: true, displayName: `${settings.stackName} alarms` });
    this.#letAlarmsPublish();
    if (settings.alarmEmail !== null) this.topic.addSubscription(new EmailSubscription(settings.alarmEmail));

    const deadLetters = LANES.map((lane) =>
      this.#alarm(`DeadLetters-${lane}`, deadLettersOf(queues.lanes[lane]), {
        alarmDescription: `Batches of the ${lane} lane were delivered ten times and never done. Look at the failures of type poison, and at why workers of this lane end.`,
        threshold: 0,
      }),
    );
    this.all = [
      ...deadLetters,
      this.#alarm('BreakerTrips', metrics.count('trips', Duration.minutes(5)), {
        alarmDescription: 'The circuit breaker of a job tripped: its site fails. The job waits for trawl jobs resume.',
        threshold: 0,
      }),
      this.#alarm('NoProgress', noProgress(metrics), {
        alarmDescription:
          'There are jobs in progress, and for fifteen minutes no item of any came to an end. Are there workers? Do they reach the sites?',
        threshold: 0,
        evaluationPeriods: 3,
      }),
      this.#alarm('StorageTrouble', metrics.gauge('storageTrouble'), {
        alarmDescription: 'DynamoDB or S3 takes no writes, and jobs wait for it. Look for throttling and for rights.',
        threshold: 0,
        evaluationPeriods: 2,
      }),
      this.#alarm('NoLeader', metrics.gauge('leading'), {
        alarmDescription: 'No controller leads: nothing is scheduled. Look at the log of the controllers.',
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        threshold: 1,
        evaluationPeriods: 5,
        // No leader and no report of a leader are treated the same.
        treatMissingData: TreatMissingData.BREACHING,
      }),
      this.#alarm('UnhealthyControllers', controller.targets.metrics.unhealthyHostCount({ statistic: 'Maximum' }), {
        alarmDescription: 'A controller does not answer. With the other one gone too, the API is down.',
        threshold: 0,
        evaluationPeriods: 3,
      }),
    ];
  }

  /** A topic with a policy of its own has not the one by which everything of its account may publish. */
  #letAlarmsPublish(): void {
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AllowAlarms',
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        // Alarms of other accounts are sent by the same service.
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
  }

  /** By default: more than the threshold once, and silence is good news. */
  #alarm(
    id: string,
    metric: Metric | MathExpression,
    options: Partial<CreateAlarmOptions> & { readonly threshold: number },
  ): Alarm {
    const alarm = metric.createAlarm(this, id, {
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...options,
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    alarm.addOkAction(new SnsAction(this.topic));
    return alarm;
  }
}

/** Those that lie there, and those that the leader took away before anybody could count them. */
function deadLettersOf({ deadLetters }: LaneQueue): MathExpression {
  const period = Duration.minutes(5);
  return new MathExpression({
    expression: 'lying + FILL(taken, 0)',
    usingMetrics: {
      lying: deadLetters.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }),
      taken: deadLetters.metricNumberOfMessagesReceived({ period, statistic: 'Sum' }),
    },
    label: 'dead letters',
    period,
  });
}

/** 1 while there are jobs in progress but no item ends. When nothing is settled, there is no data: hence FILL. */
function noProgress(metrics: TrawlMetrics): MathExpression {
  const period = Duration.minutes(5);
  return new MathExpression({
    expression: 'IF(jobs > 0 AND FILL(settled, 0) == 0, 1, 0)',
    usingMetrics: { jobs: metrics.standing('jobs', period), settled: metrics.count('settled', period) },
    label: 'jobs without progress',
    period,
  });
}
