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

export type OptionalReader = ReturnType<typeof optionalReader>;

/** Reads what may well be missing: null if it is missing or empty. A value that makes no sense still fails. */
export function optionalReader(find: (selector: string) => Element | null, place: Place) {
  const read = <T>(selector: string, reading: Reading<T>): T | null => {
    const element = find(selector);
    return element === null ? null : reading.read(element, selector, place);
  };
  const readerOf =
    <T>(reading: Reading<T>) =>
    (selector = ':scope') =>
      read(selector, reading);
  return {
    text: readerOf(TEXT),
    lines: readerOf(LINES),
    attribute: (selector: string, name: string) => read(selector, attributeNamed(name)),
    link: readerOf(LINK),
    number: readerOf(NUMBER),
    money: readerOf(MONEY),
    percent: readerOf(PERCENT),
    date: readerOf(DATE),
    table: readerOf(TABLE),
    keyValues: readerOf(KEY_VALUES),
  };
}
