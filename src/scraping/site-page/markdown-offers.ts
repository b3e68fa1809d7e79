import type { MarkdownOffer, Site } from '../../domain/site.ts';
import type { SharedStates } from '../shared-states.ts';

/** What this process has found out about sites configured as `auto`. */
export interface SiteHabits {
  /** Null until it is known. */
  offer: 'suffix' | 'accept' | 'none' | null;
  /** Consecutive pages whose content was not in their HTML. */
  bare: number;
}

const KNOWN = new WeakMap<SharedStates, Map<string, SiteHabits>>();
const MAX_SITES = 10_000;

/** One for all items of a process. */
export function habitsOf(states: SharedStates, { id, config }: Site): SiteHabits {
  const all = KNOWN.get(states) ?? new Map<string, SiteHabits>();
  KNOWN.set(states, all);
  const key = `${id} ${config.baseUrl}`;
  const known = all.get(key);
  if (known !== undefined) return known;
  if (all.size >= MAX_SITES) all.clear();
  const habits: SiteHabits = { offer: null, bare: 0 };
  all.set(key, habits);
  return habits;
}

/** What to ask a site for first. */
export function offerOf({ config }: Site, habits: SiteHabits): Exclude<MarkdownOffer, 'auto'> | 'unknown' {
  const { markdown } = config.content;
  return markdown === 'auto' ? (habits.offer ?? 'unknown') : markdown;
}

/** Where a site may have the Markdown of a page: `/guide/start.md` for `/guide/start`, and also for `/guide/start/`. */
export function markdownUrl(url: string): string {
  const target = new URL(url);
  const path = target.pathname.replace(/\/+$/, '');
  target.pathname = path === '' ? '/index.md' : path.endsWith('.md') ? path : `${path}.md`;
  return target.href;
}

/** Whether an answer is Markdown: many servers send it as plain text, and some send a page for everything. */
export function isMarkdown(contentType: string | undefined, url: string, text: string): boolean {
  const [type = ''] = (contentType ?? '').split(';', 1);
  const name = type.trim().toLowerCase();
  if (name === 'text/markdown' || name === 'text/x-markdown') return true;
  const isText = name === 'text/plain' || name === '' || name === 'application/octet-stream';
  return isText && new URL(url).pathname.endsWith('.md') && !/^\s*<(?:!doctype|html|head|body)\b/i.test(text);
}

/** The first heading; null if there is none. */
export function titleOfMarkdown(markdown: string): string | null {
  const ofMatter = /^---\r?\n[\s\S]*?^title:[ \t]*(["']?)(.+?)\1[ \t]*$[\s\S]*?^---$/m.exec(markdown.slice(0, 2000));
  if (ofMatter?.[2] !== undefined && markdown.startsWith('---')) return ofMatter[2];
  const [, heading] = /^#[ \t]+(.+?)[ \t]*#*[ \t]*$/m.exec(markdown) ?? [];
  return heading ?? null;
}
