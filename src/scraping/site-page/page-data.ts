import { z } from 'zod';
import type { Validators } from '../../domain/cached-page.ts';
import { type ContentSource, PAGE_SOURCES } from '../../domain/page-source.ts';

/** What is kept of a page. */
export const pageData = z.object({
  type: z.literal('page'),
  site: z.string().meta({ description: 'Id of the site.' }),
  path: z.string().meta({ description: 'What follows the base URL of the site, with the query.' }),
  url: z.string().meta({ description: 'Address of the page.' }),
  title: z.string().nullable().meta({ description: 'Title of the page; null if it has none.' }),
  markdown: z.string().meta({ description: 'The content.' }),
  source: z
    .enum(PAGE_SOURCES)
    .meta({ description: 'How it was read: the site’s own Markdown, HTML, a browser, a copy button, or the cache.' }),
  fetched_at: z.iso.datetime().meta({ description: 'When the content was read, or last known to be unchanged.' }),
  not_modified: z
    .boolean()
    .meta({ description: 'Whether the site confirmed that the cached content is still current.' }),
});

export type PageData = z.output<typeof pageData>;

/** The content of a page, as it was read just now. */
export interface ReadContent {
  readonly markdown: string;
  readonly title: string | null;
  /** Where it came from, which may be another address than that of the page. */
  readonly url: string;
  readonly source: ContentSource;
  readonly validators: Validators;
  /** Pages that it links to, wherever they are; navigation included, if it was read as HTML. Empty unless asked for. */
  readonly links: readonly string[];
}
