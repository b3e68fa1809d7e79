import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TABLE_SCHEMA } from '../../src/adapters/aws/table-schema.ts';
import { EMF, EMF_DIMENSIONS, EMF_NAMESPACE } from '../../src/controller/metrics/emf-names.ts';
import { FAILURE_TYPES } from '../../src/domain/failure.ts';
import { LANES } from '../../src/domain/lane.ts';
import { onlyResource, resourcesOf, synthesized } from './synthesized.ts';

const template = synthesized();

const ALARMS = [
  ...LANES.map((lane) => `DeadLetters${lane}`),
  ...['BreakerTrips', 'NoProgress', 'StorageTrouble', 'NoLeader', 'UnhealthyControllers'],
];

/** Every metric that is asked for in this value, wherever it is. */
function metricsIn(value: unknown): readonly { readonly Namespace: string; readonly MetricName: string }[] {
  if (Array.isArray(value)) return value.flatMap(metricsIn);
  if (typeof value !== 'object' || value === null) return [];
  const { Namespace, MetricName } = value as { Namespace?: unknown; MetricName?: unknown };
  const own = typeof Namespace === 'string' && typeof MetricName === 'string' ? [{ Namespace, MetricName }] : [];
  return [...own, ...Object.values(value).flatMap(metricsIn)];
}

test('each alarm says what to do, and goes to the one topic when it begins and when it ends', () => {
  const [topic] = resourcesOf(template, 'AWS::SNS::Topic');
  for (const name of ALARMS) {
    const { Properties } = onlyResource(template, 'AWS::CloudWatch::Alarm', `Alarms${name}`);
    assert.ok(String(Properties['AlarmDescription']).length > 40, name);
    assert.deepEqual(Properties['AlarmActions'], [{ Ref: topic?.id }]);
    assert.deepEqual(Properties['OKActions'], [{ Ref: topic?.id }]);
  }
});

test('alarms may be sent to the topic by this account, by no other and not in plain text', () => {
  const topic = { Ref: onlyResource(template, 'AWS::SNS::Topic', '').id };
  const { Properties } = onlyResource(template, 'AWS::SNS::TopicPolicy', '');
  assert.deepEqual(Properties['Topics'], [topic]);
  const { Statement: statements } = Properties['PolicyDocument'] as { Statement: { Effect: string }[] };
  assert.deepEqual(
    statements.filter(({ Effect }) => Effect === 'Allow'),
    [
      {
        Sid: 'AllowAlarms',
        Effect: 'Allow',
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Action: 'sns:Publish',
        Resource: topic,
        Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
      },
    ],
  );
  const [denied] = statements.filter(({ Effect }) => Effect === 'Deny');
  assert.match(JSON.stringify(denied), /"aws:SecureTransport":"false"/);
});

test('silence is good news, except about who leads', () => {
  for (const name of ALARMS) {
    const { Properties } = onlyResource(template, 'AWS::CloudWatch::Alarm', `Alarms${name}`);
    assert.equal(Properties['TreatMissingData'], name === 'NoLeader' ? 'breaching' : 'notBreaching', name);
  }
  const leader = onlyResource(template, 'AWS::CloudWatch::Alarm', 'AlarmsNoLeader').Properties;
  const { MetricName, Statistic, ComparisonOperator, Threshold } = leader;
  assert.deepEqual(
    [MetricName, Statistic, ComparisonOperator, Threshold],
    ['Leading', 'Maximum', 'LessThanThreshold', 1],
  );
});

test('a dead letter is seen while it is there, and even if the leader was faster', () => {
  for (const lane of LANES) {
    const { Properties } = onlyResource(template, 'AWS::CloudWatch::Alarm', `AlarmsDeadLetters${lane}`);
    const text = JSON.stringify(Properties['Metrics']);
    assert.deepEqual(
      metricsIn(Properties).map(({ MetricName }) => MetricName),
      ['ApproximateNumberOfMessagesVisible', 'NumberOfMessagesReceived'],
    );
    assert.match(text, new RegExp(`"Queues${lane}deadletters[0-9A-F]{8}"`));
    assert.doesNotMatch(text, new RegExp(`"Queues${lane}[0-9A-F]{8}"`));
    assert.deepEqual([Properties['ComparisonOperator'], Properties['Threshold']], ['GreaterThanThreshold', 0]);
  }
});

test('no progress means jobs in progress and not one item settled, for a quarter of an hour', () => {
  const { Properties } = onlyResource(template, 'AWS::CloudWatch::Alarm', 'AlarmsNoProgress');
  assert.match(JSON.stringify(Properties['Metrics']), /IF\(jobs > 0 AND FILL\(settled, 0\) == 0, 1, 0\)/);
  assert.deepEqual(
    metricsIn(Properties).map(({ MetricName }) => MetricName),
    [EMF.standing.jobs, EMF.counts.settled],
  );
  const [{ MetricStat } = { MetricStat: null }] = (
    Properties['Metrics'] as { MetricStat?: { Period: number; Stat: string } }[]
  ).filter((each) => each.MetricStat !== undefined);
  assert.equal(Number(Properties['EvaluationPeriods']) * Number(MetricStat?.Period), 15 * 60);
});

/** The metrics asked for are those that Trawl reports: a name that is wrong makes an alarm that never rings. */
test('alarms and dashboard ask for metrics that are reported', () => {
  const told: readonly string[] = Object.values(EMF).flatMap((group) => Object.values(group));
  const alarmed = resourcesOf(template, 'AWS::CloudWatch::Alarm').flatMap(({ Properties }) => metricsIn(Properties));
  const ours = alarmed.filter(({ Namespace }) => !Namespace.startsWith('AWS/'));
  assert.ok(ours.length >= 4);
  for (const { Namespace, MetricName } of ours) {
    assert.equal(Namespace, EMF_NAMESPACE);
    assert.ok(told.includes(MetricName), MetricName);
  }
  const page = dashboardText();
  for (const name of page.matchAll(new RegExp(`"${EMF_NAMESPACE}","(\\w+)"`, 'g')))
    assert.ok(told.includes(name[1] ?? ''));
  for (const name of [EMF.counts.success, EMF.counts.trips, EMF.standing.jobs, EMF.gauges.leading]) {
    assert.ok(page.includes(`"${EMF_NAMESPACE}","${name}"`), name);
  }
  for (const type of FAILURE_TYPES) {
    assert.ok(page.includes(`"${EMF.perFailure.failures}","${EMF_DIMENSIONS.failureType}","${type}"`), type);
  }
  for (const name of [
    'ConsumedWriteCapacityUnits',
    '"AWS/DynamoDB","WriteThrottleEvents","TableName","x"',
    '"AWS/DynamoDB","ReadThrottleEvents","TableName","x"',
    ...TABLE_SCHEMA.indexes.map(
      (index) => `"AWS/DynamoDB","WriteThrottleEvents","GlobalSecondaryIndexName","${index.name}","TableName","x"`,
    ),
    'NumberOfMessagesSent',
    'NumberOfEmptyReceives',
    'BucketSizeBytes',
  ]) {
    assert.ok(page.includes(name), name);
  }
});

function dashboardText(): string {
  const [dashboard] = resourcesOf(template, 'AWS::CloudWatch::Dashboard');
  const body = dashboard?.Properties['DashboardBody'] as { 'Fn::Join': [string, unknown[]] };
  const parts = body['Fn::Join'][1].map((part) => (typeof part === 'string' ? part : 'x'));
  // A page that is not JSON is not shown.
  return JSON.stringify(JSON.parse(parts.join('')));
}
