/** The five alerts of GitHub's Markdown, by the names that documentation generators use. */
const KINDS: Readonly<Record<string, string>> = {
  note: 'NOTE',
  info: 'NOTE',
  seealso: 'NOTE',
  abstract: 'NOTE',
  todo: 'NOTE',
  example: 'NOTE',
  question: 'NOTE',
  quote: 'NOTE',
  secondary: 'NOTE',
  details: 'NOTE',
  tip: 'TIP',
  hint: 'TIP',
  success: 'TIP',
  important: 'IMPORTANT',
  warning: 'WARNING',
  attention: 'WARNING',
  caution: 'CAUTION',
  danger: 'CAUTION',
  error: 'CAUTION',
  failure: 'CAUTION',
  bug: 'CAUTION',
};

/** Classes that say "this is an admonition", whose kind is another of the element's classes. */
const MARKERS = new Set([
  ...[
    'admonition',
    'theme-admonition',
    'alert',
    'markdown-alert',
    'custom-block',
    'admonitionblock',
    'starlight-aside',
  ],
  'callout',
]);

/** The kind as a part of the class: `theme-admonition-note`, `alert--danger`, `starlight-aside--tip`. */
const SUFFIXED = /^(?:theme-admonition|markdown-alert|alert|starlight-aside|callout|admonition)--?([a-z]+)$/;

/** DocBook has no class but the kind itself. */
const ALONE = new Set(['note', 'tip', 'important', 'warning', 'caution']);

const TITLE_CLASS =
  /^(?:admonition-?title|admonition-?heading|markdown-alert-title|custom-block-title|starlight-aside__title|callout-?title)/;

export function readAdmonitionKind(names: readonly string[]): string | null {
  const isMarked = names.some((name) => MARKERS.has(name));
  for (const name of names) {
    const suffix = SUFFIXED.exec(name)?.[1];
    const kind = isMarked || suffix !== undefined ? KINDS[suffix ?? name] : undefined;
    if (kind !== undefined && Object.hasOwn(KINDS, suffix ?? name)) return kind;
  }
  if (names.includes('admonition')) return 'NOTE';
  return names.length === 1 && ALONE.has(names[0] ?? '') ? (KINDS[names[0] ?? ''] ?? null) : null;
}

export function isAdmonitionTitle(names: readonly string[]): boolean {
  return names.some((name) => TITLE_CLASS.test(name));
}

/** A title that only repeats the kind of the alert. */
export function isDefaultTitle(kind: string, title: string): boolean {
  return title.trim().replace(/:$/, '').toUpperCase() === kind;
}
