/** How the content of a page was had: Markdown of the site itself, its HTML, a browser, or what the page copied. */
const CONTENT_SOURCES = ['markdown', 'html', 'browser', 'clipboard'] as const;
export type ContentSource = (typeof CONTENT_SOURCES)[number];

/** `cache`: it was read earlier. */
export const PAGE_SOURCES = [...CONTENT_SOURCES, 'cache'] as const;
