import type { Element } from 'domhandler';
import {
  attributeNamed,
  DATE,
  KEY_VALUES,
  LINES,
  LINK,
  MONEY,
  NUMBER,
  PERCENT,
  type Place,
  type Reading,
  TABLE,
  TEXT,
} from './readings.ts';
import type { Table } from './table.ts';

/** Reads what may well not be there: null when it is not, or is empty. What is there and makes no sense still fails. */
export class OptionalReader {
  readonly #find: (selector: string) => Element | null;
  readonly #place: Place;

  constructor(find: (selector: string) => Element | null, place: Place) {
    this.#find = find;
    this.#place = place;
  }

  text(selector = ':scope'): string | null {
    return this.#read(selector, TEXT);
  }

  lines(selector = ':scope'): string[] | null {
    return this.#read(selector, LINES);
  }

  attribute(selector: string, name: string): string | null {
    return this.#read(selector, attributeNamed(name));
  }

  link(selector = ':scope'): string | null {
    return this.#read(selector, LINK);
  }

  number(selector = ':scope'): number | null {
    return this.#read(selector, NUMBER);
  }

  money(selector = ':scope'): number | null {
    return this.#read(selector, MONEY);
  }

  percent(selector = ':scope'): number | null {
    return this.#read(selector, PERCENT);
  }

  date(selector = ':scope'): string | null {
    return this.#read(selector, DATE);
  }

  table(selector = ':scope'): Table | null {
    return this.#read(selector, TABLE);
  }

  keyValues(selector = ':scope'): Record<string, string> | null {
    return this.#read(selector, KEY_VALUES);
  }

  #read<T>(selector: string, reading: Reading<T>): T | null {
    const element = this.#find(selector);
    return element === null ? null : reading.read(element, selector, this.#place);
  }
}
