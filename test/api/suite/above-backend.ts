import { test } from 'node:test';
import { sized } from '../../support/sized.ts';
import type { Client } from './client.ts';

/**
 * `test` for cases of what the service does above its backend: how it parses, refuses and presents, and rules of
 * `src/domain`. The same code does it on every backend, and what it needs from one has cases in `test/contract`. So
 * every run has these cases on the embedded backend, and only the slow one on AWS, where a job costs ten times as much.
 */
export function aboveBackend({ service }: Pick<Client, 'service'>): typeof test {
  if (service.backend === 'embedded' || sized({ quick: false, slow: true })) return test;
  return (() => Promise.resolve()) as typeof test;
}
