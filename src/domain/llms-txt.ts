import { parsePageUrl } from './site-url.ts';

/** A larger file is `llms-full.txt`: contents, not an index. */
export const MAX_LLMS_BYTES = 2 << 20;
const MAX_LINKS = 50_000;

/** An index of a site for programs (llmstxt.org): Markdown with a heading and lists of links. */
export interface LlmsTxt {
  readonly title: string | null;
  /** Absolute and normalised, each once, in order. */
  readonly urls: readonly string[];
}

/** `url` is where it was found, for relative links. Null for an HTML page, which many sites send for every address. */
export function readLlmsTxt(text: string, url: string): LlmsTxt | null {
  const body = text.replace(/^\ufeff/, '').trimStart();
  if (body === '' || body.startsWith('<')) return null;
  const urls = new Set<string>();
  for (const [, target = ''] of body.matchAll(/\]\([ \t]*<?([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*)/g)) {
    const link = URL.parse(target, url);
    const parsed = link === null ? null : parsePageUrl(link.href);
    if (parsed !== null) urls.add(parsed.href);
    if (urls.size === MAX_LINKS) break;
  }
  const title = /^#[ \t]+(.+)$/m.exec(body)?.[1]?.trim().slice(0, 200) ?? null;
  return title === null && urls.size === 0 ? null : { title, urls: [...urls] };
}
