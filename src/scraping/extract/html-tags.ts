/** What the parser has to know about a kind of tag. */
export interface Tag {
  readonly name: string;
  /** Open elements that end where it begins; null for none. */
  readonly ends: ReadonlySet<string> | null;
  /** Has no content, and no end tag. */
  readonly isVoid: boolean;
  /** Whether `/>` ends elements inside it: `svg` begins such a part of the page, `foreignobject` ends it. */
  readonly foreign: boolean | null;
}

const P = new Set(['p']);
const FORM = new Set(['input', 'option', 'optgroup', 'select', 'button', 'datalist', 'textarea']);
const SECTION = new Set(['thead', 'tbody']);
const TERM = new Set(['dd', 'dt']);
const RUBY = new Set(['rt', 'rp']);

const ENDS: Readonly<Record<string, ReadonlySet<string>>> = {
  tr: new Set(['tr', 'th', 'td']),
  th: new Set(['th']),
  td: new Set(['thead', 'th', 'td']),
  body: new Set(['head', 'link', 'script']),
  li: new Set(['li']),
  ...{ select: FORM, input: FORM, output: FORM, button: FORM, datalist: FORM, textarea: FORM },
  option: new Set(['option']),
  optgroup: new Set(['optgroup', 'option']),
  ...{ dd: TERM, dt: TERM, rt: RUBY, rp: RUBY, tbody: SECTION, tfoot: SECTION },
  ...{ p: P, h1: P, h2: P, h3: P, h4: P, h5: P, h6: P, address: P, article: P, aside: P, blockquote: P, details: P },
  ...{ div: P, dl: P, fieldset: P, figcaption: P, figure: P, footer: P, form: P, header: P, hr: P, main: P, nav: P },
  ...{ ol: P, pre: P, section: P, table: P, ul: P },
};

const VOID = new Set([
  ...['area', 'base', 'basefont', 'br', 'col', 'command', 'embed', 'frame', 'hr', 'img', 'input', 'isindex'],
  ...['keygen', 'link', 'meta', 'param', 'source', 'track', 'wbr'],
]);

const FOREIGN = new Set(['math', 'svg']);
const HTML_INSIDE = new Set(['mi', 'mo', 'mn', 'ms', 'mtext', 'annotation-xml', 'foreignobject', 'desc', 'title']);

/** Tags without a rule that most pages have. */
const PLAIN = [
  ...[
    'a',
    'abbr',
    'b',
    'caption',
    'cite',
    'code',
    'del',
    'dfn',
    'em',
    'head',
    'html',
    'i',
    'iframe',
    'ins',
    'kbd',
    'label',
  ],
  ...[
    'mark',
    'noscript',
    'path',
    'q',
    's',
    'samp',
    'script',
    'small',
    'span',
    'strong',
    'style',
    'sub',
    'summary',
    'sup',
  ],
  ...['svg', 'template', 'thead', 'tt', 'u', 'var'],
];

/** Their content is text up to their end tag. The odd ones are mistakes of htmlparser2 that we share. */
export const RAW: ReadonlyMap<string, string> = new Map([
  ...['script', 'style', 'title', 'textarea', 'xmp'].map((name) => [name, name] as const),
  ...([
    ['tmp', 'xmp'],
    ['xitle', 'title'],
    ['xextarea', 'textarea'],
  ] as const),
]);
export const RAW_NAMES = [...RAW.keys()];

function makeTag(name: string): Tag {
  const foreign = FOREIGN.has(name) ? true : HTML_INSIDE.has(name) ? false : null;
  return { name, ends: Object.hasOwn(ENDS, name) ? (ENDS[name] ?? null) : null, isVoid: VOID.has(name), foreign };
}

/** A key that was cut out of a page and has more characters than this would keep the whole page in memory. */
const MAX_KEPT = 12;
/** Pages may invent names. */
const MAX_NAMES = 2000;

/** Each kind of tag once, found by its name as it is written. */
const TAGS = new Map([...Object.keys(ENDS), ...VOID, ...HTML_INSIDE, ...PLAIN].map((name) => [name, makeTag(name)]));

export function findTag(written: string): Tag {
  const known = TAGS.get(written);
  if (known !== undefined) return known;
  const name = written.toLowerCase();
  const tag = TAGS.get(name) ?? makeTag(name);
  if (written.length <= MAX_KEPT && TAGS.size < MAX_NAMES) TAGS.set(written, tag);
  return tag;
}

/** The same for names of attributes: a name that is always the same object is found faster. */
const ATTRIBUTES = new Map<string, string>();

export function findAttribute(written: string): string {
  const known = ATTRIBUTES.get(written);
  if (known !== undefined) return known;
  const name = written.toLowerCase();
  if (written.length <= MAX_KEPT && ATTRIBUTES.size < MAX_NAMES) ATTRIBUTES.set(written, name);
  return name;
}

/** The name of a `<!DOCTYPE …>` or `<?xml …?>`. */
export function instructionName(value: string): string {
  const end = value.search(/\s|\//);
  return (end < 0 ? value : value.slice(0, end)).toLowerCase();
}
