import { type HostSettings, NO_SETTINGS } from '../../domain/host-settings.ts';
import type { HostSettingsBook } from '../../ports/host-settings.ts';
import type { Committer } from './ledger/committer.ts';
import type { Statements } from './ledger/statements.ts';

/** A row per host, beside the jobs. */
export class EmbeddedHostSettings implements HostSettingsBook {
  readonly #sql: Statements;
  readonly #committer: Committer;

  constructor(sql: Statements, committer: Committer) {
    this.#sql = sql;
    this.#committer = committer;
  }

  list(): Promise<readonly HostSettings[]> {
    return this.#committer.read(() => this.#sql.hostSettings.all().map(settingsOf));
  }

  get(host: string): Promise<HostSettings | null> {
    return this.#committer.read(() => this.#row(host));
  }

  set(settings: HostSettings, ifVersion?: string): Promise<'set' | 'other-version'> {
    return this.#committer.durable(() => {
      const version = this.#row(settings.host)?.version ?? NO_SETTINGS;
      if (ifVersion !== undefined && version !== ifVersion && version !== settings.version) return 'other-version';
      this.#sql.setHostSettings.run(settings.host, JSON.stringify(settings));
      return 'set';
    });
  }

  clear(host: string): Promise<boolean> {
    return this.#committer.durable(() => Number(this.#sql.deleteHostSettings.run(host).changes) === 1);
  }

  #row(host: string): HostSettings | null {
    const row = this.#sql.hostSettingsOf.get(host);
    return row === undefined ? null : settingsOf(row);
  }
}

function settingsOf(row: Readonly<Record<string, unknown>>): HostSettings {
  return JSON.parse(String(row['document']));
}
