import { CheerioCrawler } from '@crawlee/cheerio';
import { runSubject } from '../http/subject.ts';
import { checkFinished, keepPage, requestsFor } from './keep-page.mjs';

/** Crawlee as its guide shows it: a crawler, a handler, addresses, a queue in ./storage, a pool that scales itself. */
let crawler = null;

await runSubject(async (apns, { url, folder }) => {
  crawler ??= new CheerioCrawler({ requestHandler: async (context) => keepPage(context, folder) });
  checkFinished(await crawler.run(requestsFor(apns, url)), apns.length);
});
