import type { ParsedElement } from '../../test/support/page-words.ts';
import type { Elements } from './corpora.ts';

export function matcher({
  names = [],
  ids = [],
  classes = [],
  roles = [],
}: Elements): (element: ParsedElement) => boolean {
  return ({ tagName, attrs }) => {
    if (names.includes(tagName)) return true;
    return attrs.some(({ name, value }) => {
      if (name === 'id') return ids.includes(value);
      if (name === 'role') return roles.includes(value);
      return name === 'class' && classes.some((one) => value.split(/\s+/).includes(one));
    });
  };
}
