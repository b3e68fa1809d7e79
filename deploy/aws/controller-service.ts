import { Peer, Port } from 'aws-cdk-lib/aws-ec2';
import { Secret as ContainerSecret, FargateService, type ICluster, Protocol } from 'aws-cdk-lib/aws-ecs';
import {
  ApplicationLoadBalancer,
  ApplicationProtocol,
  type ApplicationTargetGroup,
  ListenerCertificate,
  SslPolicy,
} from 'aws-cdk-lib/aws-elasticloadbalancingv2';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Network } from './network.ts';
import { allowController } from './permissions.ts';
import type { Queues } from './queues.ts';
import type { Settings } from './settings.ts';
import type { Storage } from './storage.ts';
import { sharedEnvironment, taskLog, trawlTask } from './task.ts';
import { START_SECONDS } from './timing.ts';

export interface ServiceDeps {
  readonly cluster: ICluster;
  readonly network: Network;
  readonly storage: Storage;
  readonly queues: Queues;
  readonly settings: Settings;
}

const PORT = 8080;

/**
 * Two controllers behind a load balancer. Both answer; one of them leads, by a lock in the ledger, and the other takes
 * over when it goes silent. They are not on Spot: if both were taken away at once, none would be left.
 */
export class ControllerService extends Construct {
  readonly service: FargateService;
  readonly loadBalancer: ApplicationLoadBalancer;
  readonly targets: ApplicationTargetGroup;
  readonly apiKey: Secret;
  readonly url: string;

  constructor(scope: Construct, id: string, deps: ServiceDeps) {
    super(scope, id);
    const { cluster, network, storage, queues, settings } = deps;
    this.apiKey = new Secret(this, 'ApiKey', {
      description: 'The key of the Trawl API (TRAWL_API_KEY)',
      // Several keys are separated by commas, so there is none in one.
      generateSecretString: { passwordLength: 40, excludePunctuation: true },
    });
    const { definition } = trawlTask(this, {
      image: 'http',
      command: ['controller'],
      cpu: 512,
      memoryMiB: 1024,
      environment: {
        ...sharedEnvironment(storage, queues, settings),
        TRAWL_HOST: '0.0.0.0',
        TRAWL_PORT: String(PORT),
      },
      secrets: { TRAWL_API_KEY: ContainerSecret.fromSecretsManager(this.apiKey as ISecret) },
      ports: [{ containerPort: PORT, protocol: Protocol.TCP }],
      logGroup: taskLog(this, settings),
      settings,
    });
    allowController(definition.taskRole, storage, queues);
    this.service = new FargateService(this, 'Service', {
      cluster,
      taskDefinition: definition,
      ...network.tasks,
      desiredCount: 2,
      capacityProviderStrategies: [{ capacityProvider: 'FARGATE', weight: 1 }],
      // One stays while the other is replaced, and a version that does not start is taken back.
      minHealthyPercent: 50,
      maxHealthyPercent: 200,
      circuitBreaker: { rollback: true },
      healthCheckGracePeriod: Duration.seconds(START_SECONDS),
    });
    this.loadBalancer = new ApplicationLoadBalancer(this, 'LoadBalancer', {
      vpc: network.vpc,
      internetFacing: settings.isPublic,
      ...(settings.isPublic ? {} : { vpcSubnets: network.tasks.vpcSubnets }),
      // Streams of events tell that they live every few seconds; a large export may take longer to begin.
      idleTimeout: Duration.seconds(120),
      dropInvalidHeaderFields: true,
    });
    // Even on the internet, networks that are named are the only ones allowed.
    const isForAll = settings.isPublic && settings.allowFrom.length === 0;
    const isEncrypted = settings.certificateArn !== null;
    const listener = this.loadBalancer.addListener('Listener', {
      protocol: isEncrypted ? ApplicationProtocol.HTTPS : ApplicationProtocol.HTTP,
      ...(settings.certificateArn === null
        ? {}
        : {
            certificates: [ListenerCertificate.fromArn(settings.certificateArn)],
            sslPolicy: SslPolicy.RECOMMENDED_TLS,
          }),
      open: isForAll,
    });
    const port = Port.tcp(isEncrypted ? 443 : 80);
    if (!isForAll) {
      listener.connections.allowFrom(Peer.ipv4(network.vpc.vpcCidrBlock), port, 'from inside the network');
      for (const from of settings.allowFrom) listener.connections.allowFrom(Peer.ipv4(from), port, 'allowFrom');
    }
    this.targets = listener.addTargets('Controllers', {
      port: PORT,
      protocol: ApplicationProtocol.HTTP,
      targets: [this.service],
      deregistrationDelay: Duration.seconds(30),
      healthCheck: {
        // Not /ready: that says of a follower that it does not lead, and the service would replace it for ever.
        path: '/health',
        healthyHttpCodes: '200',
        interval: Duration.seconds(15),
        timeout: Duration.seconds(5),
        healthyThresholdCount: 2,
        unhealthyThresholdCount: 4,
      },
    });
    this.url = `${isEncrypted ? 'https' : 'http'}://${this.loadBalancer.loadBalancerDnsName}`;
  }
}
