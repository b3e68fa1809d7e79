import type { Element } from 'domhandler';
import type { UrlTest } from '../../domain/recording/text-test.ts';
import type { WholePage } from '../extract/whole-page.ts';
import type { ChosenFile } from '../http/form-controls.ts';
import type { WebDocument } from '../http/web-document.ts';
import type { Explanation } from '../page/explain-absence.ts';
import type { Wanted } from './wanted.ts';

/**
 * What a recording needs from whatever shows it pages. The interpreter decides what a step means; an engine only does single
 * things, so that a recording means the same in a browser and without one. Expected failures are thrown as ScrapeFailure.
 */
export interface ActionEngine {
  readonly kind: 'browser' | 'http';
  /** Of the tab that is open. */
  url(): string;
  /** The address may be relative. */
  goto(url: string, options: { readonly waitUntil?: LoadState | undefined; readonly timeoutMs: number }): Promise<void>;
  go(where: 'back' | 'forward' | 'reload', timeoutMs: number): Promise<void>;
  newTab(): Promise<void>;
  /** Waits for the tab. */
  switchTab(to: TabChoice, timeoutMs: number): Promise<void>;
  closeTab(): Promise<void>;

  /** Waits for the element, does it, and answers which alternative matched. Throws NoMatch if none did. */
  interact(action: Interaction, wanted: Wanted, timeoutMs: number): Promise<number>;
  /** The same for what has the focus, or the page. */
  interactWithPage(action: PageAction): Promise<void>;
  /** Does something that leads to another page, and waits for that page. */
  navigateBy<T>(action: () => Promise<T>, timeoutMs: number): Promise<T>;
  answerDialogs(answer: DialogReply): void;

  /**
   * What matches now, in the page's order; an empty list for nothing. `view`: a `fresh` one, or the one that was read last, if
   * nothing was done since.
   */
  look(wanted: Wanted, view: 'fresh' | 'last'): Promise<Sight>;
  /** The whole page, or a frame of it. */
  page(frame: Wanted['frame'], view: 'fresh' | 'last'): Promise<WholePage>;
  /** Whether the first match can be seen; false if there is none. */
  isVisible(wanted: Wanted): Promise<boolean>;
  /** What a form control holds; null if there is none. */
  value(wanted: Wanted): Promise<string | null>;
  /** Lets time pass in which the page may change. False if it cannot: what it shows now, it will show later. */
  letChange(ms: number): Promise<boolean>;

  waitForTime(ms: number): Promise<void>;
  waitForNetworkIdle(idleMs: number, timeoutMs: number): Promise<void>;
  waitForResponse(wish: ResponseWish, timeoutMs: number): Promise<SeenResponse>;
  waitForDownload(timeoutMs: number): Promise<void>;
  waitForExpression(expression: string, timeoutMs: number): Promise<void>;

  screenshot(
    wanted: Wanted | null,
    options: { readonly fullPage: boolean; readonly timeoutMs: number },
  ): Promise<Uint8Array>;
  pdf(timeoutMs: number): Promise<Uint8Array>;
  download(
    wish: DownloadSource,
    options: { readonly optional: boolean; readonly timeoutMs: number },
  ): Promise<Downloaded>;

  /** What the page says in place of what was looked for; null if nothing. */
  explainAbsence(): Promise<Absence | null>;
}

export type LoadState = 'commit' | 'domcontentloaded' | 'load' | 'networkidle';

export type TabChoice = 'first' | 'latest' | number | { readonly url: UrlTest };

/** What is done to an element. */
export type Interaction =
  | {
      readonly type: 'click';
      readonly times: 1 | 2;
      readonly button: 'left' | 'middle' | 'right';
      readonly modifiers: readonly ('Alt' | 'Control' | 'Meta' | 'Shift')[];
      readonly offset: { readonly x: number; readonly y: number } | null;
      readonly holdMs: number;
    }
  | { readonly type: 'hover' }
  | { readonly type: 'type'; readonly text: string; readonly clear: boolean; readonly delayMs: number }
  | { readonly type: 'fill'; readonly value: string }
  | { readonly type: 'select'; readonly choice: OptionChoice }
  | { readonly type: 'check'; readonly checked: boolean }
  | { readonly type: 'press'; readonly key: string }
  | { readonly type: 'scroll'; readonly by: { readonly x: number; readonly y: number } | null }
  | { readonly type: 'drag'; readonly to: Wanted }
  | { readonly type: 'upload'; readonly files: readonly ChosenFile[] };

export type OptionChoice =
  | { readonly by: 'value'; readonly values: readonly string[] }
  | { readonly by: 'label'; readonly label: string }
  | { readonly by: 'index'; readonly index: number };

export type PageAction =
  | { readonly type: 'press'; readonly key: string }
  | { readonly type: 'scroll'; readonly to: 'top' | 'bottom' | { readonly x: number; readonly y: number } };

export type DialogReply =
  | { readonly action: 'accept' | 'dismiss' }
  | { readonly action: 'answer'; readonly text: string };

/** What an alternative matched. */
export interface Sight {
  readonly elements: readonly Element[];
  readonly page: WholePage;
  /** Which alternative; null if none matched. */
  readonly alternative: number | null;
}

export interface ResponseWish {
  readonly url: UrlTest;
  readonly method: string | null;
  readonly status: number | null;
  /** Whether it may have come before the last action. */
  readonly isAnyTime: boolean;
}

export interface SeenResponse {
  readonly url: string;
  readonly status: number;
  text(): Promise<string>;
}

export type DownloadSource =
  | { readonly from: 'element'; readonly wanted: Wanted }
  | { readonly from: 'address'; readonly url: string }
  /** What an earlier step started. */
  | { readonly from: 'earlier' };

export interface Downloaded {
  /** Null for an optional one that cannot be had. */
  readonly document: WebDocument | null;
  readonly alternative: number | null;
}

/** Why something may not be on the page. */
export interface Absence extends Explanation {
  /** The page says it among much else, so that it explains nothing for sure. */
  readonly isGuess: boolean;
}

/** None of the alternatives matched in time. */
export class NoMatch extends Error {
  readonly wanted: Wanted;
  /** What was found, but could not be used; null if nothing was found. */
  readonly found: string | null;

  constructor(wanted: Wanted, found: string | null = null) {
    super(found ?? describeNoMatch(wanted));
    this.name = 'NoMatch';
    this.wanted = wanted;
    this.found = found;
  }
}

/** Something cannot be done without a browser. */
export class NeedsBrowser extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'NeedsBrowser';
  }
}

function describeNoMatch({ alternatives, described }: Wanted): string {
  return alternatives.length === 1 ? `${described} did not match` : `none of ${alternatives.length} selectors matched`;
}
