import type { Element } from 'domhandler';

/** Roles of elements around the content. */
const NOISE_ROLES = new Set([
  'navigation',
  'search',
  'banner',
  'contentinfo',
  'dialog',
  'alertdialog',
  'menu',
  'button',
]);

/**
 * Classes of navigation and controls, by generator. Exact names: `sidebar` and `toc` alone are not among them, because
 * Sphinx and DocBook use them for a box of the text and a list of its chapters.
 */
const NOISE_CLASSES = new Set([
  // Sphinx, Read the Docs, Furo, PyData
  ...['headerlink', 'sphinxsidebar', 'related', 'rst-footer-buttons', 'rst-versions', 'wy-breadcrumbs', 'wy-nav-side'],
  ...['copybtn', 'content-icon-container', 'related-pages', 'back-to-top', 'prev-next-area', 'bd-sidebar', 'bd-toc'],
  ...[
    'edit-this-page',
    'view-this-page',
    'toc-drawer',
    'mobile-header',
    'sidebar-drawer',
    'viewcode-link',
    'wy-breadcrumbs-aside',
  ],
  // MkDocs, mdBook, VitePress, VuePress, Starlight
  ...[
    'md-sidebar',
    'md-header',
    'md-footer',
    'md-source-file',
    'md-content__button',
    'md-clipboard',
    'md-search',
    'md-top',
    'md-nav',
  ],
  ...[
    'header-anchor',
    'vpdocfooter',
    'vpdocaside',
    'vpnav',
    'vpsidebar',
    'vplocalnav',
    'nav-chapters',
    'menu-bar',
    'sidetoc',
  ],
  ...['sl-anchor-link', 'right-sidebar', 'pagination-links', 'expressive-code-copy', 'page-nav', 'page-edit'],
  // Docusaurus
  ...[
    'hash-link',
    'theme-edit-this-page',
    'theme-last-updated',
    'pagination-nav',
    'theme-doc-footer',
    'theme-doc-breadcrumbs',
  ],
  ...[
    'theme-doc-toc-mobile',
    'theme-doc-toc-desktop',
    'table-of-contents',
    'tocmobile',
    'navbar',
    'theme-doc-sidebar-container',
  ],
  // DocBook, Javadoc, Doxygen, Texinfo, rustdoc
  ...['navheader', 'navfooter', 'topnav', 'bottomnav', 'subnav', 'skipnav', 'skip-nav', 'navpath', 'nav-panel'],
  ...['srclink', 'rightside', 'out-of-band', 'copy-path', 'copypath', 'test-arrow', 'docnav'],
  // Line numbers and buttons of code
  ...[
    'linenos',
    'lineno',
    'linenodiv',
    'gutter',
    'rouge-gutter',
    'line-number',
    'line-numbers-rows',
    'linenumbers',
    'ln-num',
  ],
  ...[
    'blob-num',
    'hljs-ln-numbers',
    'react-syntax-highlighter-line-number',
    'line-numbers-wrapper',
    'copy-btn',
    'copy-button',
  ],
  ...[
    'copy-code-button',
    'clipboard-copy',
    'btn-copy',
    'btn-clipboard',
    'zeroclipboard-container',
    'copy-to-clipboard-button',
  ],
  ...['code-copy', 'code-copy-button', 'toolbar-item', 'buttongroup'],
  // Any site
  ...[
    'breadcrumb',
    'breadcrumbs',
    'skip-link',
    'skip-to-content',
    'skip-to-main',
    'skiplink',
    'pagination',
    'pager',
    'site-header',
  ],
  ...[
    'site-footer',
    'page-footer',
    'cookie-banner',
    'cookie-consent',
    'cookie-notice',
    'cookieconsent',
    'cookies',
    'cc-window',
    'cc-banner',
  ],
  ...[
    'social-share',
    'share-buttons',
    'edit-link',
    'edit-page',
    'edit-page-link',
    'page-feedback',
    'feedback',
    'newsletter',
    'ads',
  ],
  ...[
    'advertisement',
    'sr-only-focusable',
    'noprint',
    'toc-sidebar',
    'sidebar-nav',
    'sidenav',
    'prev-next',
    'mw-editsection',
  ],
]);

/** Names that generators add a hash to (`breadcrumbs_xZ1p`, as in CSS modules), or that come in many forms. */
const NOISE_PATTERN =
  /^(?:breadcrumbs?|copybutton|buttongroup|tableofcontents|editthispage|cookie-?(?:banner|consent|notice|bar))(?:[_-]|$)|^onetrust-|^cky-consent|^docsearch/;

/** Only for boxes: headings and sections are named after their subject, which may be a footer. */
const NOISE_IDS = new Set([
  ...['footer', 'footer-text', 'sidebar', 'sidebar-wrapper', 'nav', 'navbar', 'breadcrumbs', 'menu-bar', 'side-nav'],
  ...['onetrust-consent-sdk', 'cookie-banner', 'cookie-consent', 'cookieconsent', 'cookie-notice', 'skip-link'],
]);
const BOXES = new Set(['div', 'ul', 'aside', 'header', 'footer', 'form', 'p']);

/**
 * Inside running text, what is hidden from screen readers is an icon or a repetition. Around blocks it means nothing.
 */
const INLINE = new Set(['span', 'a', 'i', 'b', 'em', 'sup', 'label']);

const HIDING_STYLE = /display\s*:\s*none|visibility\s*:\s*hidden/i;

export function isNoiseClass(name: string): boolean {
  return NOISE_CLASSES.has(name) || NOISE_PATTERN.test(name);
}

/** By its attributes other than the class: hidden, or not a part of the text. */
export function isNoiseByAttributes({ name, attribs }: Element): boolean {
  const role = attribs['role'];
  // The content of other tabs is shown on a click, and belongs to the page.
  if (role === 'tabpanel') return false;
  if (role !== undefined && NOISE_ROLES.has(role)) return true;
  if (attribs['hidden'] !== undefined) return true;
  const style = attribs['style'];
  if (style !== undefined && HIDING_STYLE.test(style)) return true;
  const id = attribs['id'];
  if (id !== undefined && NOISE_IDS.has(id) && BOXES.has(name) && attribs['class'] !== 'section') return true;
  return attribs['aria-hidden'] === 'true' && INLINE.has(name);
}
