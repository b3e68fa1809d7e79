import { CfnClusterCapacityProviderAssociations, Cluster, type ICluster } from 'aws-cdk-lib/aws-ecs';
import { CfnOutput, Stack, type StackProps, Tags } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { Alarms } from './alarms.ts';
import { ControllerService } from './controller-service.ts';
import { addDashboard } from './dashboard.ts';
import { TrawlMetrics } from './metrics.ts';
import { Network } from './network.ts';
import { Queues } from './queues.ts';
import { perLane, type Settings } from './settings.ts';
import { Storage } from './storage.ts';
import { WorkerService } from './worker-service.ts';

/** Trawl on AWS: storage, queues, controllers, workers, and alarms. */
export class TrawlStack extends Stack {
  constructor(scope: Construct, id: string, { settings, ...props }: StackProps & { readonly settings: Settings }) {
    super(scope, id, props);
    Tags.of(this).add('application', 'trawl');
    const storage = new Storage(this, 'Storage', settings);
    const queues = new Queues(this, 'Queues');
    const network = new Network(this, 'Network', settings);
    const cluster = new Cluster(this, 'Cluster', { vpc: network.vpc });
    const parts = { cluster: cluster as ICluster, network, storage, queues, settings };
    const controller = new ControllerService(this, 'Controller', parts);
    const workers = perLane((lane) => new WorkerService(this, `Workers-${lane}`, lane, parts));
    const capacity = new CfnClusterCapacityProviderAssociations(this, 'Capacity', {
      cluster: cluster.clusterName,
      capacityProviders: ['FARGATE', 'FARGATE_SPOT'],
      defaultCapacityProviderStrategy: [],
    });
    // Before any service, and gone only after the last: a provider that is in use cannot be taken away. The association
    // that the CDK makes by itself comes into being too late for anybody to depend on it.
    for (const { service } of [controller, ...Object.values(workers)]) service.node.addDependency(capacity);
    const metrics = new TrawlMetrics();
    const alarms = new Alarms(this, 'Alarms', { metrics, queues, controller, settings });
    addDashboard(this, { metrics, queues, storage, workers, alarms: alarms.all });

    const outputs = {
      ApiUrl: controller.url,
      ApiKeySecret: controller.apiKey.secretName,
      TableName: storage.table.tableName,
      ResultsBucket: storage.bucket.bucketName,
      AlarmTopic: alarms.topic.topicArn,
    };
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value });
  }
}
