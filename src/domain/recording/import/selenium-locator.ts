import { recordsIn } from './read-fields.ts';
import { asLiteral } from './step-writer.ts';

/** `id=search` and the other ways in which Selenium names elements, as selectors of ours. Null for one we do not have. */
export function readSeleniumLocator(locator: string): string | null {
  const [, strategy = '', rest = ''] = /^(\w+)=(.*)$/s.exec(locator) ?? [];
  const value = asLiteral(rest);
  switch (strategy) {
    case 'id':
    case 'identifier':
      return /^[A-Za-z_][\w-]*$/.test(rest) ? `#${rest}` : `[id=${JSON.stringify(value)}]`;
    case 'name':
      return `[name=${JSON.stringify(value)}]`;
    case 'class':
    case 'className':
      return `.${value.trim().split(/\s+/).join('.')}`;
    case 'css':
      return value;
    case 'xpath':
      return `xpath/${value}`;
    case 'link':
    case 'linkText':
      return `role/link[name="${value}"]`;
    case 'partialLinkText':
      return `text/${value}`;
    default:
      return /^\(?\/\//.test(locator) ? `xpath/${asLiteral(locator)}` : null;
  }
}

/** The element of a command first, then the other ways in which the recorder could have named it. */
export function readSeleniumTargets(target: string, targets: readonly unknown[]): readonly string[] {
  const others = targets.flatMap((each) => (Array.isArray(each) && typeof each[0] === 'string' ? [each[0]] : []));
  return [target, ...others].map(readSeleniumLocator).filter((each) => each !== null);
}

/** Keys as Selenium writes them, as names of keys here. */
const KEYS: Readonly<Record<string, string>> = {
  ENTER: 'Enter',
  RETURN: 'Enter',
  TAB: 'Tab',
  ESC: 'Escape',
  ESCAPE: 'Escape',
  BACKSPACE: 'Backspace',
  BKSP: 'Backspace',
  DELETE: 'Delete',
  DEL: 'Delete',
  UP: 'ArrowUp',
  DOWN: 'ArrowDown',
  LEFT: 'ArrowLeft',
  RIGHT: 'ArrowRight',
  HOME: 'Home',
  END: 'End',
  PAGE_UP: 'PageUp',
  PAGE_DOWN: 'PageDown',
  SPACE: 'Space',
};

/** `503${KEY_ENTER}` as texts to type and keys to press. Null for a key that is not known. */
export function readSeleniumKeys(
  value: string,
): readonly ({ readonly text: string } | { readonly key: string })[] | null {
  const parts: ({ text: string } | { key: string })[] = [];
  for (const piece of value.split(/(\$\{KEY_\w+\})/)) {
    const [, name] = /^\$\{KEY_(\w+)\}$/.exec(piece) ?? [];
    if (name === undefined) {
      if (piece !== '') parts.push({ text: piece });
      continue;
    }
    const key = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined;
    if (key === undefined) return null;
    parts.push({ key });
  }
  return parts;
}

/** The commands of a test that are not commented out, with their places. */
export function readCommands(commands: readonly unknown[]) {
  return recordsIn(commands).map((command) => ({
    name: typeof command['command'] === 'string' ? command['command'] : '',
    target: typeof command['target'] === 'string' ? command['target'] : '',
    targets: Array.isArray(command['targets']) ? command['targets'] : [],
    value: typeof command['value'] === 'string' ? command['value'] : '',
  }));
}

export type SeleniumCommand = ReturnType<typeof readCommands>[number];
