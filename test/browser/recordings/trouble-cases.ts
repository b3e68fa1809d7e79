import type { Condition } from '../../../src/domain/recording/condition.ts';
import type { StepCase } from './step-cases.ts';

const goto = (url: string) => ({ type: 'goto', url }) as const;
const none: Condition = { type: 'exists', selectors: ['#never'] };
const tick = { type: 'waitForTime', ms: 0 } as const;

/**
 * Recordings that look correct until they run, and inputs that try to be more than values. Each fails, names its step,
 * and evaluates nothing; the first ones are the same in a browser.
 */
export const TROUBLE_CASES: readonly (StepCase & { readonly input?: Readonly<Record<string, string>> })[] = [
  {
    ...{ of: ['goto'], about: 'does not go where an input sends it', input: { apn: 'http://elsewhere.example/' } },
    steps: [goto('{{input.apn}}')],
    fails: { type: 'refused_address', says: /^step 2, goto .*elsewhere\.example/ },
  },
  {
    ...{ of: ['goto'], about: 'runs no script that an input brings', input: { apn: 'javascript:alert(1)' } },
    steps: [goto('{{input.apn}}')],
    fails: { type: 'invalid_input', says: /^step 2, goto .*"javascript:alert\(1\)" is not an address of a page/ },
  },
  {
    ...{ of: ['click'], about: 'takes a selector that no engine reads for one that matches nothing' },
    steps: [{ type: 'click', selectors: ['a:no-such-thing(1)', 'xpath///a[no-such-function()]'] }],
    fails: {
      type: 'structure_changed',
      says: /^step 2, click a:no-such-thing\(1\): (?:none of 2 selectors matched|.* is not a selector)/,
    },
    timeoutMs: 200,
  },
  {
    ...{ of: ['waitForExpression'], about: 'evaluates nothing unless the operator allows it' },
    steps: [{ type: 'waitForExpression', expression: 'document.title = "evaluated"' }],
    forbidsScripts: true,
    fails: {
      type: 'invalid_input',
      says: /^step 2, wait for the expression .*scripts of recordings are not allowed here/,
    },
  },
  {
    ...{ of: ['extractText'], about: 'looks for no frame that is not there' },
    steps: [{ type: 'extractText', selectors: ['p'], frame: [7], field: 'a' }],
    fails: { type: 'structure_changed', says: /^step 2, read the text of p/ },
    timeoutMs: 200,
  },
  {
    ...{ of: ['repeat', 'waitForTime'], about: 'stops after 10,000 steps, however they are nested' },
    steps: [{ type: 'repeat', until: none, max: 1000, steps: Array.from({ length: 11 }, () => tick) }],
    fails: {
      type: 'structure_changed',
      says: /^step 2\.steps\.\d+, wait 0 ms: more than 10000 steps were carried out/,
    },
    httpOnly: true,
  },
  {
    ...{ of: ['click'], about: 'refuses quotation marks of an input in XPath', input: { apn: '"] | //a["' } },
    steps: [{ type: 'click', selectors: ['xpath///a[text()="{{input.apn}}"]'] }],
    fails: { type: 'invalid_input', says: /^step 2, click .*input\.apn/ },
    httpOnly: true,
  },
  {
    ...{ of: ['click'], about: 'escapes an input in CSS', input: { apn: 'x"], a, [id="' } },
    steps: [{ type: 'click', selectors: ['a[id="{{input.apn}}"]'] }],
    fails: { type: 'structure_changed', says: /^step 2, click .* did not match/ },
    httpOnly: true,
  },
  {
    ...{ of: ['goto'], about: 'encodes an input in an address', input: { apn: '../../bill.pdf?x=1#y' } },
    steps: [goto('/second/{{input.apn}}')],
    fails: { type: 'not_found', says: /\/second\/..%2F..%2Fbill\.pdf%3Fx%3D1%23y/ },
    httpOnly: true,
  },
  {
    ...{ of: ['upload'], about: 'uploads nothing that is not base64', input: { apn: '/etc/passwd!' } },
    steps: [
      {
        type: 'upload',
        selectors: ['#file'],
        files: [{ from: 'inline', base64: '{{input.apn}}', fileName: 'a.txt' }],
      },
    ],
    fails: { type: 'invalid_input', says: /^step 2, upload a file to #file: .*base64/ },
    httpOnly: true,
  },
  {
    ...{ of: ['extractMoney'], about: 'says what is not an amount' },
    steps: [{ type: 'extractMoney', selectors: ['h1'], field: 'tax' }],
    fails: { type: 'structure_changed', says: /^step 2, read the money of h1 as tax: .*Widgets/ },
    httpOnly: true,
  },
  {
    ...{ of: ['extractJson'], about: 'says what is not JSON' },
    steps: [{ type: 'extractJson', selectors: ['h1'], field: 'state' }],
    fails: { type: 'structure_changed', says: /^step 2, read the JSON in h1 as state: .*JSON/ },
    httpOnly: true,
  },
  {
    ...{ of: ['click'], about: 'expects the page that a step promises' },
    steps: [{ type: 'click', selectors: ['#nowhere'], navigation: {} }],
    fails: { type: 'navigation_failed', says: /^step 2, click #nowhere: the step did not lead to another page/ },
    httpOnly: true,
  },
  {
    ...{ of: ['back'], about: 'goes back no further than it came' },
    steps: [{ type: 'back' }],
    fails: { type: 'navigation_failed', says: /^step 2, back: there is no such page in the history/ },
    httpOnly: true,
  },
  {
    ...{ of: ['switchTab'], about: 'switches to no tab that did not open' },
    steps: [{ type: 'switchTab', to: 3 }],
    fails: { type: 'navigation_failed', says: /^step 2, switch to tab 3: there is no such tab/ },
    httpOnly: true,
  },
  {
    ...{ of: ['select'], about: 'chooses no option that is not there' },
    steps: [{ type: 'select', selectors: ['#county'], value: 'zeta' }],
    fails: { type: 'structure_changed', says: /^step 2, select "zeta" in #county: .*zeta/ },
    httpOnly: true,
  },
];
