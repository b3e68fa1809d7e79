import type { Transform } from 'node:stream';
import { constants, createBrotliCompress, createGzip, createZstdCompress, gzipSync } from 'node:zlib';

/** Little that becomes much. They are made piece by piece, so that making them costs no memory either. */
export interface Bombs {
  readonly gzip: Buffer;
  readonly brotli: Buffer;
  readonly zstd: Buffer;
  readonly gzipInGzip: Buffer;
}

export async function makeBombs(bytes: number): Promise<Bombs> {
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 9 };
  const gzip = await compress(createGzip({ level: 9 }), bytes);
  return {
    gzip,
    brotli: await compress(createBrotliCompress({ params }), bytes),
    zstd: await compress(createZstdCompress(), bytes),
    gzipInGzip: gzipSync(gzip, { level: 9 }),
  };
}

async function compress(stream: Transform, bytes: number): Promise<Buffer> {
  const zeros = Buffer.alloc(1 << 20);
  const out: Buffer[] = [];
  stream.on('data', (chunk) => out.push(chunk));
  for (let left = bytes; left > 0; left -= zeros.length) {
    await new Promise((resolve) => stream.write(zeros, resolve));
  }
  const ended = new Promise((resolve) => stream.once('end', resolve));
  stream.end();
  await ended;
  return Buffer.concat(out);
}
