import type { ChangeTallyAnswer } from '../../contract/extraction-answers.ts';
import { type FieldDifference, OTHER_FIELDS } from './field-differences.ts';

type Field = ChangeTallyAnswer['fields'][number];

const MAX_FIELDS = 500;
const MAX_EXAMPLES = 3;
/** Longest value in an example, as JSON. */
const MAX_VALUE_LENGTH = 300;

/** Which fields differ in how many items. Its size depends on the number of fields, not on that of items. */
export class ChangeTally {
  readonly #fields = new Map<string, Field>();
  #compared = 0;
  #changed = 0;
  #recovered = 0;

  /** One compared item and its differences. `isRecovered`: it had failed, so it has no older data. */
  add(itemId: string, differences: readonly FieldDifference[], isRecovered = false): void {
    this.#compared += 1;
    if (isRecovered) this.#recovered += 1;
    if (differences.length > 0) this.#changed += 1;
    const counted = new Set<string>();
    for (const difference of differences) {
      const field = this.#fieldOf(difference.field);
      // Several fields of an item may be counted under the same name.
      if (counted.has(field.field)) continue;
      counted.add(field.field);
      field.items += 1;
      if (difference.kind === 'added') field.added += 1;
      if (difference.kind === 'removed') field.removed += 1;
      if (field.examples.length < MAX_EXAMPLES) {
        field.examples.push({
          item_id: itemId,
          before: clipped(difference.before),
          after: clipped(difference.after),
        });
      }
    }
  }

  /** The field that differs in most items first. */
  result(): ChangeTallyAnswer {
    const fields = [...this.#fields.values()].sort((a, b) => b.items - a.items || (a.field < b.field ? -1 : 1));
    return { compared: this.#compared, changed: this.#changed, recovered: this.#recovered, fields };
  }

  #fieldOf(wanted: string): Field {
    const known = this.#fields.get(wanted);
    if (known !== undefined) return known;
    const name = this.#fields.size < MAX_FIELDS ? wanted : OTHER_FIELDS;
    const field = this.#fields.get(name) ?? { field: name, items: 0, added: 0, removed: 0, examples: [] };
    this.#fields.set(name, field);
    return field;
  }
}

/** The value itself if it is short, and the beginning of its JSON otherwise. */
function clipped(value: unknown): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null');
  return text.length <= MAX_VALUE_LENGTH ? value : `${text.slice(0, MAX_VALUE_LENGTH - 1)}…`.toWellFormed();
}
