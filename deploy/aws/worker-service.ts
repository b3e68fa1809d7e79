import { Secret as ContainerSecret, FargateService } from 'aws-cdk-lib/aws-ecs';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { Lane } from '../../src/domain/lane.ts';
import { LANE_SETTINGS, SETTINGS } from '../../src/domain/settings.ts';
import type { ServiceDeps } from './controller-service.ts';
import { allowWorker } from './permissions.ts';
import { scaleByBacklog } from './scaling.ts';
import { sharedEnvironment, taskLog, trawlTask } from './task.ts';

/** A browser has several processes, and each page of it as much memory as a worker that only fetches. */
const SIZES = {
  http: { cpu: 1024, memoryMiB: 2048 },
  browser: { cpu: 2048, memoryMiB: 8192 },
} as const satisfies Record<Lane, { cpu: number; memoryMiB: number }>;

/**
 * Workers of one lane, on Spot: a third of the price for tasks that may be taken away at two minutes' notice. The notice
 * is a SIGTERM, and a worker that gets one finishes or returns what it has; one that is killed loses its lease, and the
 * ledger gives its items to another.
 *
 * There is no health check of the container. A worker is not called by anything, so it has no port to probe, and a command
 * beside it would see only that the process exists, which ECS knows. If it hangs with work in progress, its own thread
 * kills it (`worker/watchdog.ts`), and then ECS starts another.
 */
export class WorkerService extends Construct {
  readonly service: FargateService;

  constructor(scope: Construct, id: string, lane: Lane, deps: ServiceDeps) {
    super(scope, id);
    const { cluster, network, storage, queues, settings } = deps;
    const secrets = Object.entries(settings.proxySecrets).map(([name, secret]) => [
      name,
      ContainerSecret.fromSecretsManager(Secret.fromSecretNameV2(this, name, secret)),
    ]);
    const { definition } = trawlTask(this, {
      image: lane,
      command: ['worker', '--lane', lane],
      ...SIZES[lane],
      environment: {
        ...sharedEnvironment(storage, queues, settings),
        [SETTINGS[LANE_SETTINGS[lane].slots].variable]: String(settings.slots[lane]),
      },
      secrets: Object.fromEntries(secrets),
      ports: [],
      logGroup: taskLog(this, settings),
      settings,
    });
    allowWorker(definition.taskRole, lane, storage, queues);
    this.service = new FargateService(this, 'Service', {
      cluster,
      taskDefinition: definition,
      ...network.tasks,
      // There is no number of tasks: it would be set again by each deployment, in the middle of a job. The first deployment
      // starts one task, which shows that the image works, and which then has nothing to do and stops.
      capacityProviderStrategies: [{ capacityProvider: settings.isOnSpot ? 'FARGATE_SPOT' : 'FARGATE', weight: 1 }],
      // A worker that stops is replaced by one that starts; none is needed in between.
      minHealthyPercent: 0,
      maxHealthyPercent: 200,
      circuitBreaker: { rollback: true },
    });
    scaleByBacklog(this.service, queues.lanes[lane].work, {
      maxTasks: settings.maxWorkers[lane],
      slots: settings.slots[lane],
    });
  }
}
