/** How an element is treated. Elements that are not listed are part of running text. */
export type ElementKind =
  | 'inline'
  | 'block'
  | 'skip'
  | 'heading'
  | 'pre'
  | 'code'
  | 'list'
  | 'item'
  | 'definitions'
  | 'table'
  | 'quote'
  | 'rule'
  | 'break'
  | 'image'
  | 'link'
  | 'strong'
  | 'em'
  | 'del'
  | 'sub'
  | 'sup'
  | 'quotation'
  | 'summary'
  | 'footer'
  | 'math';

const NAMES: Readonly<Record<Exclude<ElementKind, 'inline'>, readonly string[]>> = {
  block: [
    ...[
      'address',
      'article',
      'aside',
      'body',
      'caption',
      'center',
      'dd',
      'details',
      'div',
      'dt',
      'fieldset',
      'figcaption',
    ],
    ...[
      'figure',
      'form',
      'header',
      'hgroup',
      'html',
      'legend',
      'main',
      'p',
      'section',
      'tbody',
      'thead',
      'tfoot',
      'tr',
      'td',
      'th',
    ],
    ...['search', 'option', 'optgroup'],
  ],
  skip: [
    ...[
      'script',
      'style',
      'noscript',
      'template',
      'head',
      'title',
      'svg',
      'canvas',
      'iframe',
      'object',
      'embed',
      'nav',
      'map',
    ],
    ...[
      'button',
      'input',
      'select',
      'textarea',
      'datalist',
      'dialog',
      'noframes',
      'link',
      'meta',
      'base',
      'col',
      'colgroup',
    ],
  ],
  heading: ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'],
  pre: ['pre', 'listing', 'xmp'],
  code: ['code', 'tt', 'kbd', 'samp'],
  list: ['ul', 'ol', 'menu', 'dir'],
  item: ['li'],
  definitions: ['dl'],
  table: ['table'],
  quote: ['blockquote'],
  rule: ['hr'],
  break: ['br'],
  image: ['img'],
  link: ['a'],
  strong: ['strong', 'b'],
  em: ['em', 'i', 'cite', 'var', 'dfn'],
  del: ['del', 's', 'strike'],
  sub: ['sub'],
  sup: ['sup'],
  quotation: ['q'],
  summary: ['summary'],
  footer: ['footer'],
  math: ['math'],
};

export const KINDS: ReadonlyMap<string, ElementKind> = new Map(
  Object.entries(NAMES).flatMap(([kind, names]) => names.map((name) => [name, kind as ElementKind] as const)),
);
