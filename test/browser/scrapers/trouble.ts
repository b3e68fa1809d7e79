import { defineBrowserScraper, z } from 'trawl/scraper';

/** Items whose browser has been stopped; this happens once to each. */
const stopped = new Set<string>();

/** What happens during an item of the demo county, by its input: everything that browsers do wrong. */
export default defineBrowserScraper({
  id: 'trouble',
  name: 'Trouble',
  version: '1.0.0',
  description: 'Visits a page of the demo county, and has the trouble that is asked for.',
  input: z.strictObject({ trouble: z.string(), item: z.string().optional() }),
  output: z.object({ seen: z.string() }),
  hosts: ['demo-county.test'],

  async scrape({ input, page, tab }) {
    await tab.goto('http://demo-county.test/app', { expectElement: '#submitDisclaimerAccept' });
    const session = () => page.context().newCDPSession(page);
    switch (input.trouble) {
      case 'page-crash':
        (await session()).send('Page.crash').catch(() => {});
        await page.waitForSelector('#never');
        break;
      case 'browser-crash': {
        const whole = await page.context().browser()?.newBrowserCDPSession();
        whole?.send('Browser.crash').catch(() => {});
        await page.waitForSelector('#never');
        break;
      }
      case 'freeze': {
        if (stopped.has(input.item ?? '')) break;
        stopped.add(input.item ?? '');
        const whole = await page.context().browser()?.newBrowserCDPSession();
        const { processInfo = [] } = (await whole?.send('SystemInfo.getProcessInfo')) ?? {};
        for (const { type, id } of processInfo) if (type === 'browser') process.kill(id, 'SIGSTOP');
        await page.waitForSelector('#never');
        break;
      }
      case 'hang':
        // In the page: once it has begun, no call to it answers any more.
        page.evaluate('for (;;);').catch(() => {});
        for (;;) await tab.read();
      case 'never-ends':
        await new Promise(() => {});
        break;
      case 'dialog':
        await page.evaluate("document.title = confirm('Sure?') ? 'agreed' : 'refused'");
        break;
      case 'pop-up':
        await page.evaluate("for (let n = 0; n < 10; n += 1) window.open('/app')");
        break;
      case 'failing-download':
        await tab.download({ action: () => page.evaluate("location.href = '/api/bill?apn=1'") }, { as: 'pdf' });
        break;
    }
    return { data: { seen: await page.title() } };
  },
});
