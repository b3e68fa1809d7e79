import { fileURLToPath } from 'node:url';
import { Platform } from 'aws-cdk-lib/aws-ecr-assets';
import { AssetImage, CpuArchitecture, OperatingSystemFamily, type RuntimePlatform } from 'aws-cdk-lib/aws-ecs';
import { IgnoreMode } from 'aws-cdk-lib/core';
import type { Settings } from './settings.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** The user of the image, by number: a name would have to be looked up in a file of it. */
export const IMAGE_USER = '1000:1000';

/** Where a task may write: all the rest of its image is read-only. */
export const SCRATCH = '/scratch';

/**
 * Built from the Dockerfile when the stack is deployed. A synthesis only looks at the files which that needs (the
 * .dockerignore says which), so that it works without Docker.
 */
export function trawlImage(target: 'http' | 'browser', { architecture }: Settings): AssetImage {
  return new AssetImage(PROJECT, {
    file: 'deploy/aws/Dockerfile',
    target,
    ignoreMode: IgnoreMode.DOCKER,
    platform: architecture === 'arm' ? Platform.LINUX_ARM64 : Platform.LINUX_AMD64,
  });
}

export function runtimePlatform({ architecture }: Settings): RuntimePlatform {
  return {
    cpuArchitecture: architecture === 'arm' ? CpuArchitecture.ARM64 : CpuArchitecture.X86_64,
    operatingSystemFamily: OperatingSystemFamily.LINUX,
  };
}
