import { Counter, type Registry } from 'prom-client';
import { PROXY_TYPES } from '../../domain/proxy-policy.ts';
import { OTHER_HOSTS, type Usage } from '../../domain/usage.ts';

/** Every label value is a series that Prometheus keeps: later hosts are counted together as OTHER_HOSTS. */
export const MAX_COUNTED_HOSTS = 100;

/** Counts what finished attempts sent and received, by kind of proxy and by host. */
export function countUsage(registry: Registry): { count(usage: Usage): void } {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers });
  const requests = counter('trawl_requests_total', 'Requests that finished attempts sent, by kind of proxy.', [
    'proxy',
  ]);
  const bytes = counter(
    'trawl_traffic_bytes_total',
    'Bytes on the wire of finished attempts, by kind of proxy and direction.',
    ['proxy', 'direction'],
  );
  const hostRequests = counter(
    'trawl_host_requests_total',
    `Requests that finished attempts sent, by host and kind of proxy; after ${MAX_COUNTED_HOSTS} hosts, host="${OTHER_HOSTS}".`,
    ['host', 'proxy'],
  );
  const hostBytes = counter(
    'trawl_host_traffic_bytes_total',
    'Bytes on the wire of finished attempts, by host, kind of proxy and direction.',
    ['host', 'proxy', 'direction'],
  );
  for (const proxy of PROXY_TYPES) {
    requests.inc({ proxy }, 0);
    for (const direction of ['up', 'down']) bytes.inc({ proxy, direction }, 0);
  }
  const hosts = new Set<string>();
  return {
    count(usage) {
      for (const { host: visited, proxy, requests: sent, bytesUp, bytesDown } of usage) {
        requests.inc({ proxy }, sent);
        bytes.inc({ proxy, direction: 'up' }, bytesUp);
        bytes.inc({ proxy, direction: 'down' }, bytesDown);
        if (hosts.size < MAX_COUNTED_HOSTS) hosts.add(visited);
        const host = hosts.has(visited) ? visited : OTHER_HOSTS;
        hostRequests.inc({ host, proxy }, sent);
        hostBytes.inc({ host, proxy, direction: 'up' }, bytesUp);
        hostBytes.inc({ host, proxy, direction: 'down' }, bytesDown);
      }
    },
  };
}
