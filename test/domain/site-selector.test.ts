import assert from 'node:assert/strict';
import { test } from 'node:test';
import { htmlSelector } from '../../src/domain/site-selector.ts';

const CASES: readonly (readonly [string, string])[] = [
  ['main article', 'main article'],
  ['css=main > p', 'main > p'],
  ['article:has-text("Install")', 'article:has-text("Install")'],
  ['//main', 'main'],
  ['xpath=//main', 'main'],
  ['//*[@id="content"]', '*[id="content"]'],
  ["//div[@class='body' and @role='main']//p", 'div[class="body"][role="main"] p'],
  ["//div[contains(@class, 'doc')]/section[2]", 'div[class*="doc"] > section:nth-of-type(2)'],
  ['//section[contains(., "a | b")]', 'section:contains("a | b")'],
  ['xpath=/html/body/div[1]', 'html > body > div:nth-of-type(1)'],
  ['(//article)[1]', 'article'],
  ["//main | //div[not(@hidden)][starts-with(@id, 'c')]", 'main, div:not([hidden])[id^="c"]'],
  ['xpath=.//ul/li[last()]', 'ul > li:last-of-type'],
];

for (const [selector, css] of CASES) {
  test(`${selector} is ${css} in HTML`, () => assert.deepEqual(htmlSelector(selector), { css }));
}

for (const selector of [
  ...[
    '//p/following-sibling::div',
    '//h1/..',
    '//div[count(p) > 2]',
    "//p[@class='a'][2]",
    '//p[text()="x"]',
    'xpath=/div',
  ],
  ...['text=Install', 'main >> p', 'div:visible', 'role=main', '(//article)[2]'],
]) {
  test(`${selector} needs a browser, and the message names it`, () => {
    const found = htmlSelector(selector);
    assert.ok('problem' in found && found.problem.includes(selector), JSON.stringify(found));
  });
}
