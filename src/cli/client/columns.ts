import type { Command } from 'commander';
import { ConfigError } from '../../config.ts';
import { parseColumns } from '../../contract/item-columns.ts';

/** Options of every command that sends a list of items. */
export interface ColumnOptions {
  readonly columns?: string;
  readonly strictColumns?: true;
}

/** The same, as query parameters of the API. */
export interface ColumnQuery {
  readonly columns?: string;
  readonly strict?: 'true';
}

export function withColumnOptions(command: Command): Command {
  return command
    .option('--columns <field=column,…>', 'columns of a CSV that have other names than the fields, such as parid=APN')
    .option('--strict-columns', 'refuse a CSV with columns that the scraper does not know (default: ignore them)');
}

/** Throws for values that the API would refuse, before anything is sent. */
export function columnQuery({ columns, strictColumns }: ColumnOptions): ColumnQuery {
  const parsed = columns === undefined ? null : parseColumns(columns);
  if (parsed !== null && 'problem' in parsed) throw new ConfigError(`--columns: ${parsed.problem}`);
  return { ...(columns === undefined ? {} : { columns }), ...(strictColumns ? { strict: 'true' } : {}) };
}

/** A line about columns that were ignored; none if there are none. */
export function ignoredColumnsText(names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  const rest = names.length > NAMES_SHOWN ? ', …' : '';
  const what = names.length === 1 ? '1 column' : `${names.length} columns`;
  return [`Ignored ${what} that the scraper does not know: ${shown}${rest}`];
}

const NAMES_SHOWN = 20;
