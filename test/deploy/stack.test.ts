import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Match } from 'aws-cdk-lib/assertions';
import { capacitySteps } from '../../deploy/aws/scaling.ts';
import { MAX_WORKERS, readSettings } from '../../deploy/aws/settings.ts';
import { DRAIN_SECONDS, LEASE_SECONDS, STOP_SECONDS, VISIBILITY_SECONDS } from '../../deploy/aws/timing.ts';
import { TABLE_SCHEMA } from '../../src/adapters/aws/table-schema.ts';
import { loadConfig } from '../../src/config.ts';
import { LANES } from '../../src/domain/lane.ts';
import { SETTINGS } from '../../src/domain/settings.ts';
import { onlyResource, type Resource, resourcesOf, synthesized } from './synthesized.ts';

const template = synthesized();

test('the table is what the ledger expects, and outlives the stack', () => {
  const [index] = TABLE_SCHEMA.indexes;
  template.resourceCountIs('AWS::DynamoDB::GlobalTable', 1);
  template.hasResource('AWS::DynamoDB::GlobalTable', {
    DeletionPolicy: 'Retain',
    UpdateReplacePolicy: 'Retain',
    Properties: {
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: TABLE_SCHEMA.keys.pk, KeyType: 'HASH' },
        { AttributeName: TABLE_SCHEMA.keys.sk, KeyType: 'RANGE' },
      ],
      AttributeDefinitions: Match.arrayWith([
        { AttributeName: index.pk, AttributeType: 'S' },
        { AttributeName: index.sk, AttributeType: 'N' },
      ]),
      GlobalSecondaryIndexes: [
        {
          IndexName: index.name,
          KeySchema: [
            { AttributeName: index.pk, KeyType: 'HASH' },
            { AttributeName: index.sk, KeyType: 'RANGE' },
          ],
          Projection: { ProjectionType: index.projection },
        },
      ],
      TimeToLiveSpecification: { AttributeName: TABLE_SCHEMA.ttl, Enabled: true },
      Replicas: [
        Match.objectLike({
          DeletionProtectionEnabled: true,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        }),
      ],
    },
  });
});

test('the bucket is private, is reached over TLS only, and outlives the stack', () => {
  template.resourceCountIs('AWS::S3::Bucket', 1);
  template.hasResource('AWS::S3::Bucket', {
    DeletionPolicy: 'Retain',
    Properties: {
      BucketEncryption: Match.anyValue(),
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      VersioningConfiguration: Match.absent(),
    },
  });
  assert.ok(deniesPlainText('AWS::S3::BucketPolicy'));
});

test('the bucket drops unfinished uploads and cools results; it deletes them only when configured to', () => {
  assert.deepEqual(lifecycleOf(template), [
    { Id: 'unfinished uploads', Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
    { Id: 'cool down', Status: 'Enabled', Transitions: [{ StorageClass: 'GLACIER_IR', TransitionInDays: 30 }] },
  ]);
  const kept = lifecycleOf(synthesized({ coolAfterDays: '0', expireAfterDays: '90' }));
  assert.deepEqual(kept.slice(1), [{ Id: 'expire', Status: 'Enabled', ExpirationInDays: 90 }]);
});

function lifecycleOf(of: typeof template): readonly unknown[] {
  const { Properties } = onlyResource(of, 'AWS::S3::Bucket', '');
  return (Properties['LifecycleConfiguration'] as { Rules: unknown[] }).Rules;
}

test('each lane has a queue, and a dead-letter queue of its own', () => {
  template.resourceCountIs('AWS::SQS::Queue', 2 * LANES.length);
  for (const lane of LANES) {
    const dead = resourcesOf(template, 'AWS::SQS::Queue').find(({ id }) => id.startsWith(`Queues${lane}deadletters`));
    template.hasResourceProperties('AWS::SQS::Queue', {
      RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': [dead?.id, 'Arn'] }, maxReceiveCount: 10 },
      VisibilityTimeout: VISIBILITY_SECONDS,
      ReceiveMessageWaitTimeSeconds: 20,
    });
  }
  const all = resourcesOf(template, 'AWS::SQS::Queue', {
    SqsManagedSseEnabled: true,
    MessageRetentionPeriod: 1_209_600,
  });
  assert.equal(all.length, 2 * LANES.length);
  assert.ok(deniesPlainText('AWS::SQS::QueuePolicy'));
});

function deniesPlainText(type: string): boolean {
  return resourcesOf(template, type).every(({ Properties }) => {
    const { Statement: statements } = Properties['PolicyDocument'] as { Statement: { Effect: string }[] };
    return statements.some(
      (each) => each.Effect === 'Deny' && JSON.stringify(each).includes('"aws:SecureTransport":"false"'),
    );
  });
}

test('the times fit each other, and the engine accepts the settings that it is given', () => {
  assert.ok(VISIBILITY_SECONDS >= LEASE_SECONDS);
  assert.ok(DRAIN_SECONDS + 15 <= STOP_SECONDS, 'a worker is killed while it gives back');
  for (const { name, container } of containers()) {
    const known = Object.fromEntries(container.Environment.map(({ Name, Value }) => [Name, plain(Value)]));
    const config = loadConfig({}, known, '/nowhere/trawl.config.ts');
    assert.equal(config.backend.kind, 'aws', name);
    assert.equal(config.leaseMs, LEASE_SECONDS * 1000);
    assert.equal(config.drainGraceMs, DRAIN_SECONDS * 1000);
    assert.equal(config.metrics, 'emf');
    const ignored = Object.keys(known).filter((each) => !KNOWN_SETTINGS.includes(each));
    assert.deepEqual(ignored, []);
  }
});

const KNOWN_SETTINGS: readonly string[] = Object.values(SETTINGS).map(({ variable }) => variable);

/** A reference is replaced by the address of a queue, or by a name. */
function plain(value: unknown): string {
  if (typeof value === 'string') return value;
  const name = String((value as { Ref: string }).Ref);
  return name.startsWith('Queues') ? `https://sqs.eu-central-1.amazonaws.com/1/${name}` : name.toLowerCase();
}

interface Container {
  readonly Command: readonly string[];
  readonly Environment: readonly { readonly Name: string; readonly Value: unknown }[];
  readonly Secrets?: readonly { readonly Name: string }[];
  readonly MountPoints: readonly unknown[];
  readonly [property: string]: unknown;
}

function containers(of = template): readonly { readonly name: string; readonly container: Container }[] {
  return resourcesOf(of, 'AWS::ECS::TaskDefinition').map(({ id, Properties }) => {
    const [container] = Properties['ContainerDefinitions'] as Container[];
    assert.ok(container);
    return { name: id, container };
  });
}

test('every container has an init, no root, no files to change but its scratch, and time to stop', () => {
  assert.equal(containers().length, 1 + LANES.length);
  for (const { name, container } of containers()) {
    assert.deepEqual(container['LinuxParameters'], { Capabilities: {}, InitProcessEnabled: true }, name);
    assert.equal(container['User'], '1000:1000');
    assert.equal(container['ReadonlyRootFilesystem'], true);
    assert.deepEqual(container.MountPoints, [{ ContainerPath: '/scratch', ReadOnly: false, SourceVolume: 'scratch' }]);
    assert.equal(container['StopTimeout'], STOP_SECONDS);
    assert.match(JSON.stringify(container['LogConfiguration']), /"LogDriver":"awslogs"/);
  }
  assert.deepEqual(
    containers().map(({ container }) => container.Command.join(' ')),
    ['controller', ...LANES.map((lane) => `worker --lane ${lane}`)],
  );
  assert.equal(resourcesOf(template, 'AWS::Logs::LogGroup', { RetentionInDays: 30 }).length, 1 + LANES.length);
});

test('two controllers run behind a load balancer that asks whether they are alive, not whether they lead', () => {
  const service = onlyResource(template, 'AWS::ECS::Service', 'Controller').Properties;
  assert.equal(service['DesiredCount'], 2);
  assert.deepEqual(service['CapacityProviderStrategy'], [{ CapacityProvider: 'FARGATE', Weight: 1 }]);
  template.hasResourceProperties('AWS::ElasticLoadBalancingV2::TargetGroup', {
    HealthCheckPath: '/health',
    Port: 8080,
  });
  template.hasResourceProperties('AWS::ElasticLoadBalancingV2::LoadBalancer', { Scheme: 'internal' });
  template.hasResourceProperties('AWS::ElasticLoadBalancingV2::Listener', { Port: 80, Protocol: 'HTTP' });
  const open = JSON.stringify(resourcesOf(template, 'AWS::EC2::SecurityGroup').map(({ Properties }) => Properties));
  assert.doesNotMatch(open, /"SecurityGroupIngress":\[[^\]]*0\.0\.0\.0\/0/);
});

/** From where the load balancer takes connections: a network as text, or as a reference to the stack's own. */
function admitted(of: typeof template): readonly unknown[] {
  const { Properties } = onlyResource(of, 'AWS::EC2::SecurityGroup', 'ControllerLoadBalancer');
  const rules = Properties['SecurityGroupIngress'] as { CidrIp: unknown; FromPort: number }[];
  return rules.map(({ CidrIp, FromPort }) => [CidrIp, FromPort]);
}

test('the API is reached from its own network and from those that are named, and on the internet from all or these', () => {
  const own = { 'Fn::GetAtt': [onlyResource(template, 'AWS::EC2::VPC', '').id, 'CidrBlock'] };
  assert.deepEqual(admitted(template), [[own, 80]]);
  const named = { allowFrom: '192.168.0.0/16, 172.16.4.0/22', vpcCidr: '10.77.0.0/20' };
  const joined = synthesized(named);
  const both = (port: number) => [
    [own, port],
    ['192.168.0.0/16', port],
    ['172.16.4.0/22', port],
  ];
  assert.deepEqual(admitted(joined), both(80));
  const encrypted = { public: 'true', certificateArn: 'arn:aws:acm:eu-central-1:1:certificate/x' };
  assert.deepEqual(admitted(synthesized({ ...encrypted, ...named })), both(443));
  assert.deepEqual(admitted(synthesized(encrypted)), [['0.0.0.0/0', 443]]);

  template.hasResourceProperties('AWS::EC2::VPC', { CidrBlock: '10.20.0.0/16' });
  joined.hasResourceProperties('AWS::EC2::VPC', { CidrBlock: '10.77.0.0/20' });
  assert.deepEqual(
    resourcesOf(joined, 'AWS::EC2::Subnet').map(({ Properties }) => Properties['CidrBlock']),
    ['10.77.0.0/24', '10.77.1.0/24', '10.77.2.0/24', '10.77.3.0/24'],
  );
});

test('capacity providers are there before every service, and go after it', () => {
  const { id, Properties } = onlyResource(template, 'AWS::ECS::ClusterCapacityProviderAssociations', '');
  assert.deepEqual(Properties['CapacityProviders'], ['FARGATE', 'FARGATE_SPOT']);
  const services = Object.entries(template.findResources('AWS::ECS::Service'));
  assert.equal(services.length, 1 + LANES.length);
  for (const [name, { DependsOn }] of services) assert.ok(DependsOn.includes(id), name);
});

test('the key of the API is made by Secrets Manager, and only controllers get it', () => {
  template.hasResourceProperties('AWS::SecretsManager::Secret', {
    GenerateSecretString: { ExcludePunctuation: true, PasswordLength: 40 },
  });
  const holders = containers().filter(({ container }) =>
    container.Secrets?.some((each) => each.Name === 'TRAWL_API_KEY'),
  );
  assert.deepEqual(
    holders.map(({ container }) => container.Command),
    [['controller']],
  );
});

test('workers run on Spot, without a fixed number, and scale from zero by what is in their queue', () => {
  for (const lane of LANES) {
    const service = onlyResource(template, 'AWS::ECS::Service', `Workers${lane}`);
    assert.deepEqual(service.Properties['CapacityProviderStrategy'], [{ CapacityProvider: 'FARGATE_SPOT', Weight: 1 }]);
    assert.equal(service.Properties['DesiredCount'], undefined);
    const target = onlyResource(template, 'AWS::ApplicationAutoScaling::ScalableTarget', `Workers${lane}`);
    assert.equal(target.Properties['MinCapacity'], 0);
  }
});

test('the arrival of work is a change of state of its own, and so are five minutes without any', () => {
  for (const lane of LANES) {
    const work = scalingAlarm(lane, 'Work');
    const noWork = scalingAlarm(lane, 'NoWork');
    assert.deepEqual(
      [work.Properties['ComparisonOperator'], work.Properties['Threshold'], work.Properties['EvaluationPeriods']],
      ['GreaterThanOrEqualToThreshold', 1, 1],
    );
    assert.deepEqual(
      [noWork.Properties['ComparisonOperator'], noWork.Properties['Threshold'], noWork.Properties['EvaluationPeriods']],
      ['LessThanThreshold', 1, 5],
    );
    for (const { Properties } of [work, noWork]) {
      const text = JSON.stringify(Properties['Metrics']);
      assert.match(text, /"waiting \+ delivered"/);
      assert.match(text, /"Period":60,/);
      assert.match(text, new RegExp(`"QueueName","Value":\\{"Fn::GetAtt":\\["Queues${lane}[0-9A-F]{8}"`));
      assert.equal(Properties['TreatMissingData'], 'missing', 'silence neither starts tasks nor takes them away');
    }
    assert.deepEqual(policyOf(noWork), {
      AdjustmentType: 'ExactCapacity',
      MetricAggregationType: 'Maximum',
      StepAdjustments: [{ MetricIntervalUpperBound: 0, ScalingAdjustment: 0 }],
    });
    const { StepAdjustments, ...up } = policyOf(work);
    assert.deepEqual(up, { AdjustmentType: 'ExactCapacity', MetricAggregationType: 'Maximum', Cooldown: 300 });
    const [first] = StepAdjustments as unknown[];
    const slots = readSettings(() => undefined).slots[lane];
    assert.deepEqual(first, { MetricIntervalLowerBound: 0, MetricIntervalUpperBound: slots, ScalingAdjustment: 1 });
  }
  template.resourcePropertiesCountIs('AWS::ApplicationAutoScaling::ScalingPolicy', { PolicyType: 'StepScaling' }, 4);
});

function scalingAlarm(lane: string, name: string): Resource {
  return onlyResource(template, 'AWS::CloudWatch::Alarm', `Workers${lane}ServiceTaskCount${name}`);
}

/** What the only action of an alarm sets. */
function policyOf({ Properties }: Resource): Readonly<Record<string, unknown>> {
  const [action, ...others] = Properties['AlarmActions'] as { Ref: string }[];
  assert.deepEqual(others, []);
  const policy = onlyResource(template, 'AWS::ApplicationAutoScaling::ScalingPolicy', action?.Ref ?? 'nothing');
  return policy.Properties['StepScalingPolicyConfiguration'] as Record<string, unknown>;
}

test('there are always enough tasks for what is in the queue, and not many more', () => {
  for (const [max, slots] of [
    [1, 1],
    [2, 16],
    [3, 4],
    [20, 16],
    [MAX_WORKERS, 64],
  ] as const) {
    const steps = capacitySteps(max, slots);
    // Bounds are counted from the border of the alarm, and the lower one is in the step.
    const tasksFor = (backlog: number) =>
      steps.find(({ lowerBound = 0, upperBound = Infinity }) => backlog - 1 >= lowerBound && backlog - 1 < upperBound)
        ?.adjustment;
    assert.equal(tasksFor(1), 1);
    assert.equal(tasksFor(max * slots * 3), max);
    for (let backlog = 1; backlog <= max * slots; backlog += 1) {
      const tasks = tasksFor(backlog) ?? 0;
      assert.ok(tasks * slots >= backlog, `${tasks} tasks for ${backlog} batches`);
      assert.ok((tasks / 1.5 - 1) * slots < backlog, `as many as ${tasks} tasks for ${backlog} batches`);
    }
    assert.ok(steps.length <= 20, 'a policy has at most twenty steps');
  }
});

test('results and rows do not pass the NAT, and nothing is looked up', () => {
  const services = resourcesOf(template, 'AWS::EC2::VPCEndpoint').map(({ Properties }) => JSON.stringify(Properties));
  assert.equal(services.length, 2);
  for (const name of ['.s3', '.dynamodb']) assert.ok(services.some((each) => each.includes(name)));
  template.resourceCountIs('AWS::EC2::NatGateway', 1);
  template.resourceCountIs('AWS::Lambda::Function', 0);
});

test('what is chosen is there: public over HTTPS, no NAT, secrets for proxies, more of this and that', () => {
  const chosen = synthesized({
    public: 'true',
    certificateArn: 'arn:aws:acm:eu-central-1:1:certificate/x',
    exit: 'public',
    architecture: 'arm',
    spot: 'false',
    alarmEmail: 'ops@example.org',
    proxySecrets: 'PROXY_URL=trawl/proxy-url,PROXY_CUSTOMER=trawl/customer',
    maxHttpWorkers: '50',
  });
  chosen.hasResourceProperties('AWS::ElasticLoadBalancingV2::LoadBalancer', { Scheme: 'internet-facing' });
  chosen.hasResourceProperties('AWS::ElasticLoadBalancingV2::Listener', { Port: 443, Protocol: 'HTTPS' });
  chosen.resourceCountIs('AWS::EC2::NatGateway', 0);
  chosen.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'ops@example.org' });
  chosen.hasResourceProperties('AWS::ApplicationAutoScaling::ScalableTarget', { MaxCapacity: 50 });
  for (const { container } of containers(chosen)) {
    const secrets = container.Secrets?.map(({ Name }) => Name);
    const isWorker = container.Command[0] === 'worker';
    assert.deepEqual(secrets, isWorker ? ['PROXY_URL', 'PROXY_CUSTOMER'] : ['TRAWL_API_KEY']);
  }
  for (const { Properties } of resourcesOf(chosen, 'AWS::ECS::Service')) {
    assert.deepEqual(Properties['CapacityProviderStrategy'], [{ CapacityProvider: 'FARGATE', Weight: 1 }]);
    assert.match(JSON.stringify(Properties['NetworkConfiguration']), /"AssignPublicIp":"ENABLED"/);
  }
  for (const { Properties } of resourcesOf(chosen, 'AWS::ECS::TaskDefinition')) {
    assert.match(JSON.stringify(Properties['RuntimePlatform']), /"ARM64"/);
  }
});

test('a setting that cannot be used is refused by name', () => {
  const refused: readonly [context: Record<string, string>, why: RegExp][] = [
    [{ public: 'true' }, /public=true needs certificateArn/],
    [{ public: 'yes' }, /public: yes is none of false, true/],
    [{ certificateArn: 'x' }, /certificateArn: x is not like/],
    [{ maxHttpWorkers: '0' }, /maxHttpWorkers: must be a whole number from 1 to 1000/],
    [{ maxBrowserWorkers: '1001' }, /maxBrowserWorkers: must be a whole number from 1 to 1000/],
    [{ vpcCidr: '10.0.0.0/8' }, /vpcCidr: 10\.0\.0\.0\/8 is not like 10\.20\.0\.0\/16, from \/16 to \/22/],
    [{ vpcCidr: '10.20.0.0/24' }, /vpcCidr: .* from \/16 to \/22/],
    [{ vpcCidr: '10.20.1.0/16' }, /vpcCidr: 10\.20\.1\.0\/16 is an address in a network/],
    [{ allowFrom: '192.168.0.0/16,10.300.0.0/16' }, /allowFrom: 10\.300\.0\.0\/16 is not like/],
    [{ allowFrom: '0.0.0.0/0' }, /allowFrom: 0\.0\.0\.0\/0 is not like .* from \/8 to \/32/],
    [{ allowFrom: '192.168.0.7' }, /allowFrom: 192\.168\.0\.7 is not like/],
    [{ httpSlots: 'many' }, /httpSlots: must be a whole number/],
    [{ expireAfterDays: '10' }, /expireAfterDays: cooled results are paid for 90 days/],
    [{ logDays: '31' }, /logDays: 31 is none of/],
    [{ proxySecrets: 'AWS_SECRET_ACCESS_KEY=x' }, /proxySecrets: AWS_SECRET_ACCESS_KEY=x is not like PROXY_URL=/],
  ];
  for (const [context, why] of refused) assert.throws(() => readSettings((name) => context[name]), why);
});

test('the README lists what can be chosen, all of it and nothing else', () => {
  const asked: string[] = [];
  readSettings((name) => {
    asked.push(name);
  });
  const readme = readFileSync(new URL('../../deploy/aws/README.md', import.meta.url), 'utf8');
  const rows = readme.split('\n').filter((line) => line.startsWith('| `'));
  const listed = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
  assert.deepEqual(listed.sort(), [...new Set(asked)].sort());
});

test('the commands that make a stack are in one place, and the other page leads there', () => {
  const page = readFileSync(new URL('../../docs/aws.md', import.meta.url), 'utf8');
  assert.doesNotMatch(page, /npx cdk/);
  assert.ok(page.includes('](../deploy/aws/README.md)'));
});
