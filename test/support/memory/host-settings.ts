import { type HostSettings, NO_SETTINGS } from '../../../src/domain/host-settings.ts';
import type { HostSettingsBook } from '../../../src/ports/host-settings.ts';

export function openMemoryHostSettings(): HostSettingsBook {
  const hosts = new Map<string, HostSettings>();
  return {
    list: async () => [...hosts.values()].sort((a, b) => (a.host < b.host ? -1 : 1)),
    get: async (host) => hosts.get(host) ?? null,
    async set(settings, ifVersion) {
      const version = hosts.get(settings.host)?.version ?? NO_SETTINGS;
      if (ifVersion !== undefined && version !== ifVersion && version !== settings.version) return 'other-version';
      hosts.set(settings.host, settings);
      return 'set';
    },
    clear: async (host) => hosts.delete(host),
  };
}
