import { z } from 'zod';
import { siteBase } from './site-url.ts';

/**
 * The configuration of a documentation site. The field names are those of the user's document (`sites.json`), because
 * that document is what we store and show. It is parsed once, strictly and with defaults: afterwards, every field is
 * present.
 */

/** `fetch`: over HTTP. `browser`: in a browser. `auto`: over HTTP, and in a browser if the content is not in the HTML. */
export const SITE_MODES = ['fetch', 'browser', 'auto'] as const;
export type SiteMode = (typeof SITE_MODES)[number];

export const CONTENT_METHODS = ['inner_html', 'click_copy'] as const;

/**
 * What a site offers instead of HTML. `auto`: the worker finds out; `suffix`: `<url>.md`; `accept`: `Accept:
 * text/markdown`.
 */
const MARKDOWN_OFFERS = ['auto', 'suffix', 'accept', 'none'] as const;
export type MarkdownOffer = (typeof MARKDOWN_OFFERS)[number];

const WAIT_UNTIL = ['load', 'domcontentloaded', 'networkidle', 'commit'] as const;

const selector = z.string().trim().min(1, 'must not be empty').max(2000);

function milliseconds(description: string, least: number) {
  return z.number().int().min(least).max(600_000).meta({ description });
}

/** How a page is opened and waited for, both for pages of links and pages of content. */
const visiting = {
  waitFor: selector
    .optional()
    .meta({ description: 'Selector that must be visible before the page is read; by default that of the content.' }),
  waitForTimeoutMs: milliseconds('Time limit for that selector.', 1).default(15_000),
  waitUntil: z
    .enum(WAIT_UNTIL)
    .meta({ description: 'State of the page, by the names of Playwright, that ends its loading.' })
    .default('domcontentloaded'),
  gotoTimeoutMs: milliseconds('Time limit for loading the page.', 1).default(30_000),
};

const linksSchema = z
  .strictObject({
    startUrls: z
      .array(z.string().trim().max(2000))
      .min(1, 'must name at least one page; "" is the base page')
      .max(1000)
      .meta({ description: 'Where to begin: paths below baseUrl, or whole URLs. "" is the base page.' })
      .default(['']),
    pattern: z
      .string()
      .max(500)
      .meta({ description: 'Text that the URL of a page must contain to be followed; "" for every page of the site.' })
      .default(''),
    maxDepth: z
      .number()
      .int()
      .min(0)
      .max(100)
      .meta({ description: 'How many links away from its start a page may be.' })
      .default(2),
    sitemaps: z
      .array(z.string().trim().min(1).max(2000))
      .max(100)
      .meta({ description: 'Sitemaps to read; [] for those that robots.txt names, or /sitemap.xml.' })
      .default([]),
    ...visiting,
  })
  .meta({ description: 'How pages of the site are found.' });

const clickSchema = z.strictObject({
  selector: selector.meta({ description: 'What to click.' }),
  waitAfter: z.number().int().min(0).max(60_000).meta({ description: 'Wait after the click, in ms.' }).default(500),
});

const contentSchema = z
  .strictObject({
    mode: z.enum(SITE_MODES).optional().meta({ description: 'How pages are read, if not in the mode of the site.' }),
    method: z
      .enum(CONTENT_METHODS)
      .meta({ description: 'inner_html: the HTML of the selector. click_copy: what the page copies after clicks.' })
      .default('inner_html'),
    selector: selector
      .optional()
      .meta({ description: 'Where the content is (CSS, //xpath or :has-text()); by default it is searched for.' }),
    clickSequence: z
      .array(clickSchema)
      .min(1)
      .max(20)
      .optional()
      .meta({ description: 'Clicks, in order, that copy the content; by default one click on the selector.' }),
    markdown: z
      .enum(MARKDOWN_OFFERS)
      .meta({
        description:
          'What the site offers instead of HTML. suffix: Markdown at <url>.md. accept: Markdown for Accept: ' +
          'text/markdown. none: neither. auto: find out.',
      })
      .default('auto'),
    ...visiting,
  })
  .check(({ value, issues }) => {
    if (value.method === 'click_copy' && value.selector === undefined && value.clickSequence === undefined) {
      const message = 'click_copy needs a selector to click, or a clickSequence';
      issues.push({ code: 'custom', path: ['selector'], message, input: value });
    }
    if (value.method !== 'click_copy' && value.clickSequence !== undefined) {
      const message = 'is for the method click_copy only';
      issues.push({ code: 'custom', path: ['clickSequence'], message, input: value });
    }
    if (value.method === 'click_copy' && value.mode === 'fetch') {
      const message = 'click_copy needs a browser';
      issues.push({ code: 'custom', path: ['mode'], message, input: value });
    }
  })
  .meta({ description: 'Where the content of a page is, and how it is read.' });

export const siteSchema = z
  .strictObject({
    name: z.string().trim().min(1).max(200).optional().meta({ description: 'Display name.' }),
    baseUrl: z
      .string()
      .max(2000)
      .refine((url) => siteBase(url) !== null, 'must be an http or https URL without user, query and fragment')
      .overwrite((url) => siteBase(url) ?? url)
      .meta({ description: 'Address that every page of the site begins with; of several sites, the longest wins.' }),
    mode: z
      .enum(SITE_MODES)
      .meta({
        description:
          'fetch: over HTTP. browser: in a browser. auto: over HTTP, and in a browser only if the content is not in the HTML.',
      })
      .default('auto'),
    defaultPath: z.string().max(2000).meta({ description: 'Path of the page to read if none is named.' }).default(''),
    links: linksSchema.prefault({}),
    content: contentSchema.prefault({}),
  })
  .check(({ value, issues }) => {
    if (value.content.method === 'click_copy' && value.content.mode === undefined && value.mode === 'fetch') {
      const message = 'must be browser or auto for the method click_copy';
      issues.push({ code: 'custom', path: ['mode'], message, input: value });
    }
  })
  .meta({ description: 'The configuration of a documentation site.' });

export type SiteConfig = z.infer<typeof siteSchema>;
export type SiteInput = z.input<typeof siteSchema>;

/** A site by its id. */
export interface Site {
  readonly id: string;
  readonly config: SiteConfig;
}

const SITE_ID = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

export const siteIdSchema = z
  .string()
  .regex(SITE_ID, 'must be 1 to 64 lower-case letters, digits, dots, hyphens or underscores')
  .meta({ description: 'The id of the site.' });

/** `sites.json` */
export const sitesFileSchema = z.strictObject({ sites: z.record(siteIdSchema, siteSchema) });

/** The mode in which the content of pages is read: copying always needs a browser. */
export function contentMode({ mode, content }: SiteConfig): SiteMode {
  return content.method === 'click_copy' ? 'browser' : (content.mode ?? mode);
}
