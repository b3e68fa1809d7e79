import type { Recording } from './recording.ts';
import { parseAlternative, type Selectors } from './selector.ts';
import type { Step, StepType } from './step.ts';
import { walkSteps } from './step-path.ts';

/**
 * Which steps of a recording can be carried out without a browser, and why the others cannot. This is what can be known
 * from the recording alone; whether the site's pages work without their scripts, only trying shows.
 */
export interface HttpPlan {
  readonly isPossible: boolean;
  readonly obstacles: readonly HttpObstacle[];
}

interface HttpObstacle {
  readonly path: string;
  readonly type: StepType;
  /** `a mouse over an element is seen only by scripts`. */
  readonly reason: string;
}

/** `same`: has the same effect over HTTP. `nothing`: has no effect there, and needs none. Otherwise why not. */
const OVER_HTTP = {
  goto: 'same',
  back: 'same',
  forward: 'same',
  reload: 'same',
  newTab: 'same',
  switchTab: 'same',
  closeTab: 'same',
  click: 'same',
  doubleClick: 'only scripts react to a double click',
  hover: 'only scripts react to the mouse over an element',
  type: 'same',
  fill: 'same',
  clear: 'same',
  select: 'same',
  check: 'same',
  uncheck: 'same',
  press: 'same',
  scroll: 'nothing',
  drag: 'only scripts react to dragging',
  upload: 'same',
  dialog: 'dialogs are opened by scripts',
  waitForElement: 'same',
  waitForText: 'same',
  waitForUrl: 'same',
  waitForTime: 'nothing',
  waitForNetworkIdle: 'nothing',
  waitForResponse: 'the requests of a page are sent by its scripts',
  waitForDownload: 'same',
  waitForExpression: 'an expression is evaluated in a page',
  extractText: 'same',
  extractAttribute: 'same',
  extractValue: 'same',
  extractHtml: 'same',
  extractNumber: 'same',
  extractMoney: 'same',
  extractDate: 'same',
  extractTable: 'same',
  extractRecords: 'same',
  extractJson: 'same',
  screenshot: 'a picture needs a page that is drawn',
  pdf: 'a PDF of a page needs a page that is drawn',
  download: 'same',
  if: 'same',
  forEach: 'same',
  repeat: 'same',
  try: 'same',
  call: 'same',
  stop: 'same',
  assertText: 'same',
  assertElement: 'same',
  assertCount: 'same',
  assertUrl: 'same',
  assertSameItem: 'same',
} as const satisfies Record<StepType, string>;

export function planHttp(recording: Pick<Recording, 'steps' | 'sequences'>): HttpPlan {
  const obstacles: HttpObstacle[] = [];
  for (const { path, step } of walkSteps(recording)) {
    const reason = findObstacle(step);
    if (reason !== null) obstacles.push({ path, type: step.type, reason });
  }
  return { isPossible: obstacles.length === 0, obstacles };
}

/** Null if the step can be carried out over HTTP. */
export function findObstacle(step: Step): string | null {
  const rule = OVER_HTTP[step.type];
  if (rule !== 'same') return rule === 'nothing' ? null : rule;
  if (step.type === 'press' && step.key !== 'Enter' && step.key !== 'Tab') return 'only scripts react to single keys';
  if (step.type === 'click' && (step.button ?? 'left') !== 'left') return 'only scripts react to other mouse buttons';
  if (step.type === 'extractJson' && step.response !== undefined)
    return 'the requests of a page are sent by its scripts';
  if ('selectors' in step && step.selectors !== undefined && needsShadowRoots(step.selectors)) {
    return 'shadow roots are made by scripts';
  }
  return null;
}

/** Whether no alternative can be looked for in the page as it was sent. */
function needsShadowRoots(selectors: Selectors): boolean {
  return selectors.every((alternative) => {
    const parts = parseSafely(alternative);
    return parts.length > 1 || parts.some(({ kind }) => kind === 'pierce');
  });
}

/** A selector with placeholders may not be readable before they have values. */
function parseSafely(alternative: Selectors[number]) {
  try {
    return parseAlternative(alternative);
  } catch {
    return [];
  }
}
