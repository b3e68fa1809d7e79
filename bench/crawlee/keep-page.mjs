import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readFields } from '../http/fields.ts';

/** The handler of both crawlers: ten fields, and the three files that the others write too, as fast as one can. */
export function keepPage({ request, response, body, $ }, folder) {
  const apn = request.userData.apn;
  const data = readFields($);
  if (data.apn !== apn) throw new Error(`${request.url} shows ${data.apn}`);
  const metadata = {
    job_id: 'bench',
    item_id: apn,
    scraper_id: 'crawlee',
    scraper_version: '1.0.0',
    input: { apn },
    url: request.loadedUrl,
    status: response.statusCode,
    fetched_at: new Date().toISOString(),
    try: request.retryCount + 1,
    identity: 0,
    requests: [{ method: 'GET', url: request.loadedUrl, status: response.statusCode, bytes: body.length, ms: 0 }],
  };
  const item = join(folder, apn);
  mkdirSync(item);
  writeFileSync(join(item, 'html.html.gz'), gzipSync(body));
  writeFileSync(join(item, 'data.json'), `${JSON.stringify(data)}\n`);
  writeFileSync(join(item, 'metadata.json'), `${JSON.stringify(metadata)}\n`);
}

export function requestsFor(apns, url) {
  return apns.map((apn) => ({ url: `${url}/parcel/${apn}`, userData: { apn } }));
}

/** A page that was not kept does not count as fetched. */
export function checkFinished({ requestsFinished, requestsFailed }, expected) {
  if (requestsFinished !== expected)
    throw new Error(`${requestsFinished} of ${expected} pages, ${requestsFailed} failed`);
}
