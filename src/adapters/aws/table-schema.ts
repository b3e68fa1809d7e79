/**
 * The one table, as plain data: `trawl doctor --create` makes it on an emulator, the stack in production, and neither can
 * differ from what the ledger expects.
 *
 * `due` is sparse: only batches in flight are in it, by the time at which somebody is to ask what became of them.
 */
export const TABLE_SCHEMA = {
  keys: { pk: 'pk', sk: 'sk' },
  indexes: [{ name: 'due', pk: 'dueKey', sk: 'dueAt', projection: 'KEYS_ONLY' }],
  ttl: 'goneAt',
} as const;
