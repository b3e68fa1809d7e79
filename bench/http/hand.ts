import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { load } from 'cheerio/slim';
import { Agent, request } from 'undici';
import { readFields } from './fields.ts';
import { runSubject, type Task } from './subject.ts';

/**
 * The script that one would write by hand in an hour, in its faster form: undici, cheerio on htmlparser2, and the files
 * written in place, which takes half the CPU of `fs/promises`. It has no ledger, no retries and no limits.
 */
const agent = new Agent({ connections: 16 });

await runSubject(async (apns, { url, folder, concurrency }) => {
  const left = apns.values();
  const scrapeOn = async () => {
    for (const apn of left) await scrape(apn, { url, folder });
  };
  await Promise.all(Array.from({ length: concurrency }, scrapeOn));
});

async function scrape(apn: string, { url, folder }: Pick<Task, 'url' | 'folder'>): Promise<void> {
  const page = `${url}/parcel/${apn}`;
  const begun = performance.now();
  const { statusCode, body } = await request(page, { dispatcher: agent });
  const html = await body.text();
  if (statusCode !== 200) throw new Error(`${page} answered ${statusCode}`);
  const ms = Math.round(performance.now() - begun);

  const data = readFields(load(html));
  if (data['apn'] !== apn) throw new Error(`${page} shows ${data['apn']}`);

  const metadata = {
    job_id: 'bench',
    item_id: apn,
    scraper_id: 'by-hand',
    scraper_version: '1.0.0',
    input: { apn },
    url: page,
    status: statusCode,
    fetched_at: new Date().toISOString(),
    try: 1,
    identity: 0,
    requests: [{ method: 'GET', url: page, status: statusCode, bytes: html.length, ms }],
  };
  const item = join(folder, apn);
  mkdirSync(item);
  writeFileSync(join(item, 'html.html.gz'), gzipSync(html));
  writeFileSync(join(item, 'data.json'), `${JSON.stringify(data)}\n`);
  writeFileSync(join(item, 'metadata.json'), `${JSON.stringify(metadata)}\n`);
}
