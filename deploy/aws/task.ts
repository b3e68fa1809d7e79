import {
  AwsLogDriverMode,
  type ContainerDefinition,
  FargateTaskDefinition,
  LinuxParameters,
  LogDrivers,
  type PortMapping,
  type Secret,
} from 'aws-cdk-lib/aws-ecs';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Duration, RemovalPolicy, Size } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { IMAGE_USER, runtimePlatform, SCRATCH, trawlImage } from './image.ts';
import type { Queues } from './queues.ts';
import type { Settings } from './settings.ts';
import type { Storage } from './storage.ts';
import { DRAIN_SECONDS, LEASE_SECONDS, STOP_SECONDS } from './timing.ts';

export interface TrawlTask {
  readonly image: 'http' | 'browser';
  /** Arguments of `trawl`. */
  readonly command: readonly string[];
  readonly cpu: number;
  readonly memoryMiB: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, Secret>>;
  readonly ports: readonly PortMapping[];
  readonly logGroup: LogGroup;
  readonly settings: Settings;
}

/** One container that runs `trawl`: as an unprivileged user, on read-only files, with time to stop. */
export function trawlTask(scope: Construct, task: TrawlTask) {
  const { settings, cpu, memoryMiB } = task;
  const definition = new FargateTaskDefinition(scope, 'Task', {
    cpu,
    memoryLimitMiB: memoryMiB,
    runtimePlatform: runtimePlatform(settings),
    volumes: [{ name: 'scratch' }],
  });
  const container: ContainerDefinition = definition.addContainer('trawl', {
    image: trawlImage(task.image, settings),
    command: [...task.command],
    user: IMAGE_USER,
    readonlyRootFilesystem: true,
    // Something must take in the children of a process that died, and pass SIGTERM on: `docker run --init`.
    linuxParameters: new LinuxParameters(scope, 'Linux', { initProcessEnabled: true }),
    stopTimeout: Duration.seconds(STOP_SECONDS),
    environment: { ...task.environment },
    secrets: { ...task.secrets },
    portMappings: [...task.ports],
    logging: LogDrivers.awsLogs({
      logGroup: task.logGroup,
      streamPrefix: 'trawl',
      // A log that is not consumed must not block the work.
      mode: AwsLogDriverMode.NON_BLOCKING,
      maxBufferSize: Size.mebibytes(16),
    }),
  });
  container.addMountPoints({ sourceVolume: 'scratch', containerPath: SCRATCH, readOnly: false });
  return { definition, container };
}

/** Goes with the stack: what is to last is in the table and in the bucket. */
export function taskLog(scope: Construct, { logDays }: Settings): LogGroup {
  return new LogGroup(scope, 'Log', { retention: logDays as RetentionDays, removalPolicy: RemovalPolicy.DESTROY });
}

/** The environment of every Trawl process on AWS. */
export function sharedEnvironment(storage: Storage, queues: Queues, settings: Settings): Record<string, string> {
  const { http, browser } = queues.lanes;
  return {
    TRAWL_BACKEND: 'aws',
    TABLE_NAME: storage.table.tableName,
    WEB_SCRAPER_QUEUE_URL: http.work.queueUrl,
    WEB_SCRAPER_BROWSER_QUEUE_URL: browser.work.queueUrl,
    WEB_SCRAPER_RESULTS_BUCKET: storage.bucket.bucketName,
    TRAWL_LEASE_MS: String(LEASE_SECONDS * 1000),
    TRAWL_DRAIN_GRACE_MS: String(DRAIN_SECONDS * 1000),
    TRAWL_DATA_DIR: `${SCRATCH}/data`,
    TRAWL_LOG_LEVEL: settings.logLevel,
    TRAWL_METRICS: 'emf',
  };
}
