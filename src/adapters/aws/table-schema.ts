/**
 * The one table, as plain data: `trawl doctor --create` creates it on an emulator, the stack in production, and neither
 * can differ from what the ledger expects.
 *
 * `due` is sparse: it has only batches in flight, by the time at which the reaper should look at them.
 */
export const TABLE_SCHEMA = {
  keys: { pk: 'pk', sk: 'sk' },
  indexes: [{ name: 'due', pk: 'dueKey', sk: 'dueAt', projection: 'KEYS_ONLY' }],
  ttl: 'goneAt',
} as const;
