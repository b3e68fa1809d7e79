import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { load } from 'cheerio/slim';
import { readProfile } from './fields.ts';

/** Takes the fields and writes the three files that we write, too. */
export function keepProfile(
  html: string,
  { apn, url, folder, scraper }: { readonly apn: string; url: string; folder: string; scraper: string },
): void {
  const data = readProfile(load(html));
  if (data['apn'] !== apn) throw new Error(`${url} shows ${data['apn']}`);
  const metadata = {
    job_id: 'bench',
    item_id: apn,
    scraper_id: scraper,
    scraper_version: '1.0.0',
    input: { apn },
    url,
    fetched_at: new Date().toISOString(),
    try: 1,
    navigations: [url],
  };
  const item = join(folder, apn);
  mkdirSync(item);
  writeFileSync(join(item, 'html.html.gz'), gzipSync(html));
  writeFileSync(join(item, 'data.json'), `${JSON.stringify(data)}\n`);
  writeFileSync(join(item, 'metadata.json'), `${JSON.stringify(metadata)}\n`);
}
