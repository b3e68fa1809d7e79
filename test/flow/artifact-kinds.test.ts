import assert from 'node:assert/strict';
import { test } from 'node:test';
import { download } from '../../src/controller/results/download.ts';
import { ARTIFACT_KINDS, type ArtifactKind } from '../../src/domain/artifact.ts';
import type { ResultStore } from '../../src/ports/result-store.ts';
import type { ProducedArtifact } from '../../src/scraping/scraper.ts';
import { keepArtifacts } from '../../src/worker/keep-artifacts.ts';
import { sha256 } from '../domain/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { openMemoryResultStore } from '../support/memory/result-store.ts';
import { PackingStore } from '../support/packing-store.ts';

interface Case {
  /** What the scraper says besides the kind. */
  readonly made?: Omit<ProducedArtifact, 'kind' | 'bytes'>;
  readonly file: string;
  /** Below the item's folder, if it is not the file. */
  readonly key?: string;
  readonly type: string;
  /** Encodings of 2,000 bytes, and of 1,024. */
  readonly encodings: readonly ['identity' | 'gzip', 'identity' | 'gzip'];
}

const PLAIN = ['identity', 'identity'] as const;
const PNG = { contentType: 'image/png', extension: 'png' };
const PDF = { contentType: 'application/pdf', extension: 'pdf' };

const CASES: Readonly<Record<ArtifactKind, readonly Case[]>> = {
  html: [
    { file: 'html.html', type: 'text/html; charset=utf-8', encodings: ['gzip', 'identity'] },
    {
      made: { contentType: 'text/html; charset=latin1' },
      file: 'html.html',
      type: 'text/html; charset=latin1',
      encodings: ['gzip', 'identity'],
    },
  ],
  page: [
    {
      made: { name: 'taxes', contentType: 'text/html; charset=utf-8', extension: 'html' },
      file: 'page-taxes.html',
      key: 'pages/taxes.html',
      type: 'text/html; charset=utf-8',
      encodings: ['gzip', 'identity'],
    },
    {
      made: { name: 'data', contentType: 'application/json', extension: 'json' },
      file: 'page-data.json',
      key: 'pages/data.json',
      type: 'application/json',
      encodings: ['gzip', 'identity'],
    },
  ],
  data: [{ file: 'data.json', type: 'application/json', encodings: PLAIN }],
  metadata: [{ file: 'metadata.json', type: 'application/json', encodings: PLAIN }],
  screenshot: [{ made: PNG, file: 'screenshot.png', type: 'image/png', encodings: PLAIN }],
  document: [
    { made: PDF, file: 'document.pdf', type: 'application/pdf', encodings: PLAIN },
    { file: 'document.bin', type: 'application/octet-stream', encodings: PLAIN },
  ],
  failed_page: [{ file: 'failed_page.html', type: 'text/html; charset=utf-8', encodings: ['gzip', 'identity'] }],
  visit: [{ file: 'visit.json', type: 'application/json', encodings: ['gzip', 'identity'] }],
  trace: [{ file: 'trace.zip', type: 'application/zip', encodings: PLAIN }],
};

const STORES: Readonly<Record<string, () => ResultStore>> = {
  'a store of objects': openMemoryResultStore,
  'a store that packs them': () => new PackingStore(openMemoryResultStore()),
};

for (const [where, openStore] of Object.entries(STORES)) {
  test(`every kind comes back from ${where} under its name, of its type and whole`, async () => {
    for (const kind of ARTIFACT_KINDS) {
      for (const { made = {}, file, key = file, type, encodings } of CASES[kind]) {
        for (const [index, size] of [2000, 1024].entries()) {
          const store = openStore();
          const bytes = new Uint8Array(size).fill(65);
          const parts = { store, clock: new FakeClock(), digest: sha256 };
          const [artifact] = await keepArtifacts(parts, { jobId: 'job-1', itemId: '1', attempt: 1 }, [
            { kind, bytes, ...made },
          ]);
          assert.ok(artifact);
          assert.deepEqual([artifact.kind, artifact.encoding], [kind, encodings[index]], `${kind} of ${size} bytes`);
          if (artifact.offset === undefined) assert.equal(artifact.key, `job-1/items/1/${key}`);
          const answer = await download({ itemId: '1', artifact, store, headers: {} });
          assert.equal(answer?.headers['Content-Type'], type);
          assert.match(answer?.headers['Content-Disposition'] ?? '', new RegExp(`filename="1-${file}"`));
          assert.deepEqual(Buffer.concat(await Array.fromAsync(answer?.body ?? [])), Buffer.from(bytes));
        }
      }
    }
  });
}
