/**
 * Which CSV column each field of the input is read from: `parid=APN,name=Owner`. A pair that contains a comma is put in
 * double quotes, as in CSV: `parid=APN,"name=Last, First"`. One column may supply several fields.
 */
export type ColumnMapping = ReadonlyMap<string, string>;

export type ParsedColumns = { readonly mapping: ColumnMapping } | { readonly problem: string };

/** Quoted pairs, in which a doubled quote is one quote, and plain ones. */
const PAIR = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y;

export function parseColumns(text: string): ParsedColumns {
  const mapping = new Map<string, string>();
  PAIR.lastIndex = 0;
  for (let isLast = false; !isLast; ) {
    const at = PAIR.lastIndex;
    const match = PAIR.exec(text);
    if (match === null) return { problem: `cannot read ${text.slice(at)}: write field=column, separated by commas` };
    const [, quoted, plain = '', end] = match;
    const pair = quoted?.replaceAll('""', '"') ?? plain;
    const sign = pair.indexOf('=');
    const field = pair.slice(0, Math.max(0, sign)).trim();
    const column = pair.slice(sign + 1).trim();
    if (field === '' || column === '') return { problem: `"${pair.trim()}" must be field=column, such as parid=APN` };
    if (mapping.has(field)) return { problem: `${field} is given twice` };
    mapping.set(field, column);
    isLast = end === '';
  }
  return { mapping };
}
