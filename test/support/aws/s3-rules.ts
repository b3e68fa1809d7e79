import type { buildApp } from 'fauxqs';

type App = ReturnType<typeof buildApp>;
type Query = Readonly<Record<string, string | undefined>>;

/**
 * What the emulator does not do and S3 does: conditions on writes, the list of unfinished uploads, and the headers that
 * a link asks for. To be called before it listens.
 */
export function addS3Rules(app: App): void {
  addConditions(app);
  addListOfUploads(app);
  addHeadersOfLinks(app);
}

/** `If-None-Match: *` and `If-Match` on PutObject and CompleteMultipartUpload. One write to a key waits for another. */
function addConditions(app: App): void {
  const writes = new Map<string, Promise<void>>();
  const ends = new WeakMap<object, () => void>();
  app.addHook('preHandler', async (request, reply) => {
    const query = request.query as Query;
    const isWrite = request.method === 'PUT' ? query['partNumber'] === undefined : query['uploadId'] !== undefined;
    const path = request.url.split('?')[0] ?? '';
    if (!isWrite || !['PUT', 'POST'].includes(request.method)) return;
    const before = writes.get(path);
    const { promise, resolve } = Promise.withResolvers<void>();
    writes.set(path, promise);
    ends.set(request, () => {
      resolve();
      if (writes.get(path) === promise) writes.delete(path);
    });
    await before;
    const { 'if-none-match': ifNew, 'if-match': ifSame } = request.headers;
    if (ifNew === undefined && ifSame === undefined) return;
    const there = await app.inject({ method: 'HEAD', url: path });
    if (ifNew === '*' ? there.statusCode === 200 : there.headers.etag !== ifSame) {
      return reply.status(412).type('application/xml').send(refusal('PreconditionFailed'));
    }
  });
  app.addHook('onSend', async (request) => ends.get(request)?.());
}

function addListOfUploads(app: App): void {
  const uploads = new Map<string, { readonly bucket: string; readonly key: string }>();
  app.addHook('preHandler', async (request, reply) => {
    const query = request.query as Query;
    if (request.method !== 'GET' || query['uploads'] === undefined) return;
    const { bucket } = request.params as { bucket: string };
    const listed = [...uploads]
      .filter(([, upload]) => upload.bucket === bucket && upload.key.startsWith(query['prefix'] ?? ''))
      .map(([id, { key }]) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`);
    const list = `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${listed.join('')}</ListMultipartUploadsResult>`;
    return reply.type('application/xml').send(list);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const query = request.query as Query;
    if (reply.statusCode >= 300 || (request.method !== 'POST' && request.method !== 'DELETE')) return;
    if (query['uploads'] !== undefined && typeof payload === 'string') {
      const { bucket, '*': key } = request.params as { bucket: string; '*': string };
      const id = /<UploadId>([^<]+)<\/UploadId>/.exec(payload)?.[1];
      if (id !== undefined) uploads.set(id, { bucket, key });
    } else if (query['uploadId'] !== undefined) {
      uploads.delete(query['uploadId']);
    }
  });
}

function addHeadersOfLinks(app: App): void {
  app.addHook('onSend', async (request, reply) => {
    if (request.method !== 'GET') return;
    for (const [name, value] of Object.entries(request.query as Query)) {
      if (name.startsWith('response-') && value !== undefined) reply.header(name.slice('response-'.length), value);
    }
  });
}

function refusal(code: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>by the rules of S3</Message></Error>`;
}
