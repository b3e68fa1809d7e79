import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
  Metric,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Duration } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { TABLE_SCHEMA } from '../../src/adapters/aws/table-schema.ts';
import { FAILURE_TYPES } from '../../src/domain/failure.ts';
import { LANES, type Lane } from '../../src/domain/lane.ts';
import type { TrawlMetrics } from './metrics.ts';
import type { Queues } from './queues.ts';
import { backlogOf } from './scaling.ts';
import type { Storage } from './storage.ts';
import type { WorkerService } from './worker-service.ts';

interface DashboardDeps {
  readonly metrics: TrawlMetrics;
  readonly queues: Queues;
  readonly storage: Storage;
  readonly workers: Readonly<Record<Lane, WorkerService>>;
  readonly alarms: readonly Alarm[];
}

/** One page: is it well, how fast is it, what fails, what does it cost. */
export function addDashboard(scope: Construct, deps: DashboardDeps): Dashboard {
  const { metrics, alarms } = deps;
  return new Dashboard(scope, 'Dashboard', {
    defaultInterval: Duration.hours(12),
    widgets: [
      [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 24, height: 3 })],
      [
        graph('Items by outcome', [metrics.count('success'), metrics.count('failed'), metrics.count('skipped')], {
          stacked: true,
        }),
        graph('Jobs in progress, items to do', [metrics.standing('jobs')], { right: [metrics.standing('pending')] }),
      ],
      [
        graph(
          'Failures by type',
          FAILURE_TYPES.map((type) => metrics.failures(type)),
          { stacked: true },
        ),
        graph('Breaker trips, storage trouble', [metrics.count('trips'), metrics.gauge('storageTrouble')], {
          right: [metrics.gauge('leading')],
        }),
      ],
      LANES.map((lane) => laneGraph(lane, deps)),
      [
        graph('Batches sent, expired, lost, refused late', [
          metrics.count('dispatched'),
          metrics.count('expired'),
          metrics.count('lost'),
          metrics.count('fenced'),
          metrics.count('deadLetters'),
        ]),
        graph('Errors of the engine', [metrics.ownCount('errors'), metrics.count('unread')]),
      ],
      [tableCost(deps), queueCost(deps), bucketCost(deps)],
    ],
  });
}

interface GraphOptions {
  readonly stacked?: boolean;
  readonly right?: IMetric[];
  readonly width?: number;
}

function graph(
  title: string,
  left: IMetric[],
  { stacked = false, right = [], width = 12 }: GraphOptions = {},
): IWidget {
  return new GraphWidget({ title, left, right, stacked, width, height: 6, leftYAxis: { min: 0 } });
}

/** The number of running tasks is the number of tasks that reported their CPU use. */
function laneGraph(lane: Lane, { queues, workers }: DashboardDeps): IWidget {
  const period = Duration.minutes(1);
  const { work, deadLetters } = queues.lanes[lane];
  const tasks = workers[lane].service.metricCpuUtilization({ period, statistic: 'SampleCount', label: 'tasks' });
  const perTask = new MathExpression({
    expression: 'waiting / MAX([FILL(tasks, 0), 1])',
    usingMetrics: { waiting: work.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' }), tasks },
    label: 'waiting per task',
    period,
  });
  const dead = deadLetters.metricApproximateNumberOfMessagesVisible({ period, label: 'dead letters' });
  return graph(`Lane ${lane}: batches and tasks`, [backlogOf(work), perTask, dead], { right: [tasks] });
}

function tableCost({ storage: { table } }: DashboardDeps): IWidget {
  const options = { period: Duration.minutes(5), statistic: 'Sum' };
  const used = [table.metricConsumedWriteCapacityUnits(options), table.metricConsumedReadCapacityUnits(options)];
  // An index that takes no more writes holds up those of the table, and is counted by itself.
  const indexes = TABLE_SCHEMA.indexes.map(({ name }) =>
    table.metric('WriteThrottleEvents', {
      ...options,
      label: `WriteThrottleEvents of ${name}`,
      dimensionsMap: { TableName: table.tableName, GlobalSecondaryIndexName: name },
    }),
  );
  const throttled = [table.metric('WriteThrottleEvents', options), table.metric('ReadThrottleEvents', options)];
  return graph('DynamoDB: units, and throttles', used, { right: [...throttled, ...indexes], width: 8 });
}

/** Empty receives are paid for like others. */
function queueCost({ queues }: DashboardDeps): IWidget {
  const options = { period: Duration.minutes(5), statistic: 'Sum' };
  const calls = LANES.map((lane) => queues.lanes[lane].work).flatMap((queue) => [
    queue.metricNumberOfMessagesSent(options),
    queue.metricNumberOfMessagesReceived(options),
    queue.metricNumberOfMessagesDeleted(options),
    queue.metricNumberOfEmptyReceives(options),
  ]);
  return graph('SQS: messages, and receives that got none', calls, { width: 8 });
}

/** Daily figures: S3 counts requests only for those who pay for it. */
function bucketCost({ storage: { bucket } }: DashboardDeps): IWidget {
  const stored = (metricName: string, storageType: string) =>
    new Metric({
      namespace: 'AWS/S3',
      metricName,
      dimensionsMap: { BucketName: bucket.bucketName, StorageType: storageType },
      period: Duration.days(1),
      statistic: 'Average',
    });
  return graph('S3: objects and bytes', [stored('NumberOfObjects', 'AllStorageTypes')], {
    right: [stored('BucketSizeBytes', 'StandardStorage'), stored('BucketSizeBytes', 'GlacierInstantRetrievalStorage')],
    width: 8,
  });
}
