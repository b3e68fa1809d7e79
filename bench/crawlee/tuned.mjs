import { CheerioCrawler, Configuration, LogLevel, log, RequestList } from '@crawlee/cheerio';
import { runSubject } from '../http/subject.ts';
import { checkFinished, keepPage, requestsFor } from './keep-page.mjs';

/**
 * Crawlee as an expert would set it up for speed: nothing on the disk but results, a list instead of a
 * queue, as many at once as we have from the start, no sessions, no retries, no made-up browser headers, no log.
 */
log.setLevel(LogLevel.OFF);

await runSubject(async (apns, { url, folder, concurrency }) => {
  const crawler = new CheerioCrawler(
    {
      requestList: await RequestList.open(null, requestsFor(apns, url)),
      requestHandler: async (context) => keepPage(context, folder),
      minConcurrency: concurrency,
      maxConcurrency: concurrency,
      maxRequestRetries: 0,
      useSessionPool: false,
      persistCookiesPerSession: false,
      autoscaledPoolOptions: { desiredConcurrency: concurrency, loggingIntervalSecs: null },
      statisticsOptions: { persistenceOptions: { enable: false } },
      preNavigationHooks: [
        (_context, gotOptions) => {
          gotOptions.useHeaderGenerator = false;
          gotOptions.http2 = false;
        },
      ],
    },
    new Configuration({ persistStorage: false, purgeOnStart: false }),
  );
  checkFinished(await crawler.run(), apns.length);
});
