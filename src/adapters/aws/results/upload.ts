import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { ByteRange } from '../../../domain/result-address.ts';
import type { PutOptions, StoredBytes } from '../../../ports/result-store.ts';
import { type BucketCalls, type SendOptions, SHARED_CALL_MS } from './calls.ts';
import type { Content } from './draft-files.ts';
import { instead } from './errors.ts';
import { Slots } from './slots.ts';

/** A part, and the largest body that goes in one request. Parts have at least 5 MiB; there are at most 10,000 of them. */
const PART_BYTES = 8 * 1024 * 1024;
/** Limit for the whole store, so that its memory is bounded however many documents are put at once. */
const PARTS_AT_ONCE = 4;

/** Bytes as stored in the bucket, and their metadata. */
export interface Upload {
  readonly stored: StoredBytes;
  readonly content: Content;
  readonly contentType: string;
  readonly ifTaken: PutOptions['ifTaken'];
}

/** `taken`: there is something under the key, possibly what we have just written without getting an answer. */
type Uploaded = 'stored' | 'taken' | 'conflict';

/** One try to put bytes under a key: in one request, or in parts where they are many. */
export class Uploads {
  readonly #calls: BucketCalls;
  readonly #slots = new Slots(PARTS_AT_ONCE);

  constructor(calls: BucketCalls) {
    this.#calls = calls;
  }

  put(upload: Upload): Promise<Uploaded> {
    const { content } = upload;
    if (content.size > PART_BYTES) return this.#putInParts(upload);
    return content.isInMemory ? this.#putAtOnce(upload) : this.#slots.use(() => this.#putAtOnce(upload));
  }

  async #putAtOnce({ content, ...upload }: Upload): Promise<Uploaded> {
    const { s3, bucket } = this.#calls;
    const Body = await content.read(0, content.size);
    const command = new PutObjectCommand({ Bucket: bucket, ...headersOf(upload), ...conditionOf(upload), Body });
    const send = (options: SendOptions) =>
      s3
        .send(command, options)
        .then((): Uploaded => 'stored', instead<Uploaded>({ taken: 'taken', conflict: 'conflict' }));
    return this.#calls.call(putting(upload.stored.key), send, endOf(upload));
  }

  /** Whatever goes wrong, no parts are left: they would be billed, and no list of keys shows them. */
  async #putInParts({ content, ...upload }: Upload): Promise<Uploaded> {
    const { s3, bucket } = this.#calls;
    const doing = putting(upload.stored.key);
    const begin = new CreateMultipartUploadCommand({ Bucket: bucket, ...headersOf(upload) });
    const { UploadId } = await this.#calls.call(doing, (options) => s3.send(begin, options));
    if (UploadId === undefined) throw new Error(`${doing.what}: the server began an upload and gave it no id`);
    const which = { Bucket: bucket, Key: upload.stored.key, UploadId };
    try {
      const uploaded = await this.#complete(which, upload, await this.#sendParts(which, content));
      if (uploaded === 'taken' || uploaded === 'conflict') await this.#abort(which);
      return uploaded === 'ended-before' ? 'taken' : uploaded;
    } catch (error) {
      await this.#abort(which);
      throw error;
    }
  }

  async #sendParts(which: WhichUpload, content: Content): Promise<readonly CompletedPart[]> {
    const failed = new AbortController();
    const sending = partsOf(content.size).map(({ start, end }, index) =>
      this.#slots
        .use(async () => {
          failed.signal.throwIfAborted();
          return await this.#sendPart(which, index + 1, await content.read(start, end), failed.signal);
        })
        .catch((error: unknown) => {
          failed.abort(error);
          throw error;
        }),
    );
    // All of them end before the upload does: a part that arrives after its end would stay.
    await Promise.allSettled(sending);
    if (failed.signal.aborted) throw failed.signal.reason;
    return await Promise.all(sending);
  }

  async #sendPart(which: WhichUpload, number: number, Body: Uint8Array, signal: AbortSignal): Promise<CompletedPart> {
    const command = new UploadPartCommand({ ...which, PartNumber: number, Body });
    const send = (options: { readonly abortSignal: AbortSignal }) => this.#calls.s3.send(command, options);
    const { ETag } = await this.#calls.call(putting(which.Key), send, { signal });
    return { ...(ETag === undefined ? {} : { ETag }), PartNumber: number };
  }

  #complete(which: WhichUpload, upload: Described, parts: readonly CompletedPart[]): Promise<Completed> {
    const MultipartUpload = { Parts: [...parts] };
    const command = new CompleteMultipartUploadCommand({ ...which, ...conditionOf(upload), MultipartUpload });
    // No such upload: it was completed by a try whose reply was lost, or a removal of the job aborted it.
    const answers = { taken: 'taken', conflict: 'conflict', 'no-upload': 'ended-before' } as const;
    const send = (options: SendOptions) =>
      this.#calls.s3.send(command, options).then((): Completed => 'stored', instead<Completed>(answers));
    return this.#calls.call(putting(which.Key), send, endOf(upload));
  }

  /** What cannot be aborted now is found by the removal of the job, or by the lifecycle rule of the bucket. */
  async #abort(which: WhichUpload): Promise<void> {
    const command = new AbortMultipartUploadCommand(which);
    const about = { what: `cannot end the upload of ${which.Key}`, action: 's3:AbortMultipartUpload' } as const;
    await this.#calls.call(about, (options) => this.#calls.s3.send(command, options)).catch(() => {});
  }
}

type Described = Omit<Upload, 'content'>;

type Completed = Uploaded | 'ended-before';

interface WhichUpload {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string;
}

function putting(key: string) {
  return { what: `cannot store ${key}`, action: 's3:PutObject' } as const;
}

function partsOf(size: number): readonly ByteRange[] {
  return Array.from({ length: Math.ceil(size / PART_BYTES) }, (_, index) => ({
    start: index * PART_BYTES,
    end: Math.min((index + 1) * PART_BYTES, size),
  }));
}

/** The type comes from a site. A type that is not a valid header is not worth losing the bytes. */
const SAFE_HEADER = /^[\x20-\x7e]{1,300}$/;

function headersOf({ stored, contentType }: Described) {
  return {
    Key: stored.key,
    ContentType: SAFE_HEADER.test(contentType) ? contentType : 'application/octet-stream',
    ...(stored.encoding === 'gzip' ? { ContentEncoding: 'gzip' } : {}),
    // Describes the bytes as they were given to us: they are compared by these.
    Metadata: { sha256: stored.sha256, size: String(stored.size) },
  };
}

function endOf({ ifTaken }: Described): { readonly endMs?: number } {
  return ifTaken === 'keep' ? {} : { endMs: SHARED_CALL_MS };
}

function conditionOf({ ifTaken }: Described) {
  return ifTaken === 'keep' ? { IfNoneMatch: '*' } : {};
}
