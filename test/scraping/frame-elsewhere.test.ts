import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TabView } from '../../src/scraping/actions/browser/tab-view.ts';
import { translatePlaywright } from '../../src/scraping/browser/playwright-failure.ts';
import { StoredPage } from '../../src/scraping/extract/stored-page.ts';
import { ScrapeFailure } from '../../src/scraping/scrape-failure.ts';

/** What Playwright says when a frame happens to be loading its next document. */
const NAVIGATING = new Error(
  'frame.content: Unable to retrieve content because the page is navigating and changing the content.',
);

function leaving(): ScrapeFailure {
  const translated = translatePlaywright(NAVIGATING, { isGone: false, isCrashed: false });
  assert.equal(translated?.failure.type, 'navigation_failed');
  return new ScrapeFailure(translated.failure);
}

test('a frame that navigates while it is being read is read again', async () => {
  const paused: number[] = [];
  const view = new TabView(async (ms) => void paused.push(ms));
  let reads = 0;
  const page = await view.readFrame(async () => {
    reads += 1;
    if (reads < 3) throw leaving();
    return new StoredPage('<p>here</p>', 'http://county.test/frame');
  });
  assert.equal(page.text('p'), 'here');
  assert.deepEqual([reads, paused.length], [3, 2]);
});

test('a frame that never rests is a failure, and other failures are not tried again', async () => {
  const view = new TabView(async () => {});
  let reads = 0;
  const read = (error: Error) =>
    view.readFrame(async () => {
      reads += 1;
      throw error;
    });
  await assert.rejects(read(leaving()), /the page went elsewhere while it was read/);
  assert.equal(reads, 5);
  await assert.rejects(read(new Error('another')), /another/);
  assert.equal(reads, 6);
});
